"""An evaluation as numbers that a JSON file can hold."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from greymatch.bench.history import short

if TYPE_CHECKING:
    from greymatch.evaluation import Evaluation
    from greymatch.forecast.scores import Scores

SCORES = ("mse", "rmse", "mae", "nmse", "crps", "coverage", "spread_skill")


def plain(value: Any) -> Any:
    """Only what JSON knows: numbers of NumPy become Python's, those that are not finite become null."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def brief(tree: Any) -> Any:
    """The same with four digits, so that a file of many numbers stays small."""
    if isinstance(tree, dict):
        return {key: brief(item) for key, item in tree.items()}
    if isinstance(tree, list):
        return [brief(item) for item in tree]
    return short(tree) if isinstance(tree, float) else tree


def numbers(scores: Scores) -> dict[str, Any]:
    """Each score; `lost` trajectories, of which no draw was left, make errors infinite (null)."""
    return {name: getattr(scores, name) for name in SCORES} | {"failed": scores.failed, "lost": len(scores.lost)}


def described(evaluation: Evaluation) -> dict[str, Any]:
    """Model, references, parameters, whether error bars can be trusted, and share of physics."""
    return plain(
        {
            "method": evaluation.model.settings.method,
            "scores": numbers(evaluation.scores),
            "references": {name: numbers(scores) for name, scores in evaluation.references.items()},
            "best_reference": evaluation.best_reference,
            "beats_references": bool(evaluation.beats_references),
            "parameters": evaluation.parameters(),
            "calibration": brief(evaluation.calibration().to_dict()),
            "share": evaluation.share,
        }
    )
