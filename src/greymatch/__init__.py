"""greymatch: learning dynamics when you know only half the physics."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from greymatch import systems as systems
    from greymatch import weather as weather
    from greymatch.checking.check import Check as Check
    from greymatch.checking.check import check as check
    from greymatch.data.noise import estimate_noise as estimate_noise
    from greymatch.data.read import read as read
    from greymatch.data.store import Store as Store
    from greymatch.data.trajectories import Trajectories as Trajectories
    from greymatch.data.write import write as write
    from greymatch.errors import GreymatchError as GreymatchError
    from greymatch.evaluation import Evaluation as Evaluation
    from greymatch.evaluation import evaluate as evaluate
    from greymatch.explain.advice import advise as advise
    from greymatch.forecast.forecast import Forecast as Forecast
    from greymatch.forecast.posterior import Posterior as Posterior
    from greymatch.forecast.scores import score as score
    from greymatch.forecast.stored import StoredForecast as StoredForecast
    from greymatch.models.file import load as load
    from greymatch.models.greybox import GreyBox as GreyBox
    from greymatch.physics.operators import divergence as divergence
    from greymatch.physics.operators import gradient as gradient
    from greymatch.physics.operators import laplacian as laplacian
    from greymatch.physics.physics import Physics as Physics
    from greymatch.physics.priors import Fixed as Fixed
    from greymatch.physics.priors import LogNormal as LogNormal
    from greymatch.physics.priors import Normal as Normal
    from greymatch.physics.priors import TruncatedNormal as TruncatedNormal
    from greymatch.physics.priors import Uniform as Uniform
    from greymatch.report.build import write_report as write_report
    from greymatch.settings import Settings as Settings
    from greymatch.training.fit import fit as fit
    from greymatch.training.suited import suited as suited

try:
    __version__ = version("greymatch")
except PackageNotFoundError:  # a source tree that is not installed
    __version__ = "0.0.0"

# where each public name lives; loaded when first used, so that `import greymatch` takes no time
_HOMES = {
    "Check": "checking.check",
    "Evaluation": "evaluation",
    "Fixed": "physics.priors",
    "Forecast": "forecast.forecast",
    "GreyBox": "models.greybox",
    "GreymatchError": "errors",
    "LogNormal": "physics.priors",
    "Normal": "physics.priors",
    "Physics": "physics.physics",
    "Posterior": "forecast.posterior",
    "Settings": "settings",
    "Store": "data.store",
    "StoredForecast": "forecast.stored",
    "Trajectories": "data.trajectories",
    "TruncatedNormal": "physics.priors",
    "Uniform": "physics.priors",
    "advise": "explain.advice",
    "check": "checking.check",
    "divergence": "physics.operators",
    "estimate_noise": "data.noise",
    "evaluate": "evaluation",
    "fit": "training.fit",
    "gradient": "physics.operators",
    "laplacian": "physics.operators",
    "load": "models.file",
    "read": "data.read",
    "score": "forecast.scores",
    "suited": "training.suited",
    "write": "data.write",
    "write_report": "report.build",
}

_PACKAGES = ("systems", "weather")
__all__ = [*_HOMES, "__version__", *_PACKAGES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"greymatch.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'greymatch' has no attribute {name!r}")
    value = getattr(import_module(f"greymatch.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
