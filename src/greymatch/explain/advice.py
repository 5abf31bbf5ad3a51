"""Which of two answers about the parameters to publish: that of the model, or of the physics completed and refitted."""

from __future__ import annotations

from dataclasses import dataclass, replace

from greymatch.checking.confounding import Confounded, confounded
from greymatch.data.trajectories import Trajectories
from greymatch.explain.explanation import Explanation
from greymatch.models.greybox import GreyBox
from greymatch.training.stock import parts
from greymatch.training.validation import Validator

FAITHFUL = 0.98  # the least part of the residual that the terms must explain
CLEARLY = 0.25  # of the model's error: where terms forecast so well, it is the residual that says too much
AS_WELL = 1.05  # times the model's error, which is no worse: at a solver's tolerance, luck decides digits


@dataclass(frozen=True, repr=False)
class Advice:
    """What was missing, the model `refitted` with it, the forecast `error` of the net and `refitted_error` on the same
    held-out trajectories, relative to each state's spread, and parameters that a missing term could pass for."""

    explanation: Explanation
    refitted: GreyBox
    error: float
    refitted_error: float
    confounded: tuple[Confounded, ...]

    def __repr__(self) -> str:
        better = "the refitted physics" if self.refit_is_better else "the model"
        named = ", ".join(one.parameter for one in self.confounded) or "none"
        return (
            f"{self.explanation}\nforecast error {self.error:.3g}, refitted {self.refitted_error:.3g} (geometric means "
            f"over trajectories): publish {better}\nparameters that a missing term could pass for: {named}"
        )

    @property
    def faithful(self) -> bool:
        """Whether the terms say what the residual says."""
        said = self.explanation
        return all(said.fidelity[state] >= FAITHFUL for state, terms in said.missing.items() if terms)

    @property
    def refit_is_better(self) -> bool:
        return self.refitted_error <= (AS_WELL if self.faithful else CLEARLY) * self.error


def advise(model: GreyBox, data: Trajectories) -> Advice:
    """Explain `model` by the trajectories it learned from, and refit; some are held out to compare, as in `fit`.

    ```python
    advice = gm.advise(model, train)
    advice.refit_is_better, advice.confounded
    gm.write_report(evaluation, "report.html", advice=advice)
    ```

    Not for a model whose residual cannot be explained; see `GreyBox.explain`.
    """
    settings = model.settings
    explanation = model.explain(data)
    learned, held = parts(data.to("cpu"), None, settings.training.seed)
    refitted = replace(explanation, error=None).refit(learned, held)  # whether it is worse, is told here
    seen = replace(held.trimmed().to(model.device), noise=model.noise)
    return Advice(
        explanation=explanation,
        refitted=refitted,
        error=Validator.of(seen, settings.window).error(model.network).scaled,
        refitted_error=refitted.record["validation_error"],
        confounded=tuple(confounded(model.physics, data.to("cpu"), settings)),
    )
