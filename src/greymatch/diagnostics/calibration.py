"""`Calibration`: whether the error bars of an evaluation can be trusted, as numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from greymatch.diagnostics.reliability import TOLD, Reliability
from greymatch.diagnostics.verdict import sentence, verdict

if TYPE_CHECKING:
    import pandas as pd

ALL = "all"


@dataclass(frozen=True, eq=False)
class Calibration:
    """How honest the error bars are, of each parameter whose truth is known and of the forecast of each state.

    ```python
    calibration = evaluate(model, test, given=26).calibration()
    print(calibration)                          # in words
    calibration.table()                         # coverage at several levels, CRPS, spread over skill
    calibration.forecasts["all"].coverage       # at each of `.levels`
    ```

    `forecasts["all"]` pools the states, each in units of the standard deviation of its truth; `leads` are groups of
    rising lead time, by their mean. `energy` are the energy scores of the "forecast", vectors of all states at each
    time in those units, and of the "parameters", in units of the prior's standard deviations. Fields are judged at 64
    of their pixels.

    Not for telling whether the error bars are of use: the prior itself is honest. See CRPS and energy, small is good.
    """

    parameters: dict[str, Reliability]
    forecasts: dict[str, Reliability]
    leads: dict[float, Reliability]
    energy: dict[str, float] = field(default_factory=dict)

    def sentences(self) -> dict[str, str]:
        """What to believe, by parameter and by state."""
        return {name: sentence(found) for name, found in self.rows().items()}

    def table(self) -> pd.DataFrame:
        """One row for each parameter and for each state's forecast."""
        import pandas as pd

        rows = {}
        for name, found in self.rows().items():
            told = found.to_dict()
            levels = {f"{100 * level:g} %": share for level, share in zip(TOLD, told.pop("coverage"), strict=True)}
            rows[name] = {"verdict": str(verdict(found)), **levels, **told}
        return pd.DataFrame.from_dict(rows, orient="index")

    def to_dict(self) -> dict[str, Any]:
        """A few dozen numbers that a JSON file can hold once NaN are null; coverages are at each of `levels`."""
        told = {name: found.to_dict() for name, found in self.leads.items()}
        return {
            "levels": list(TOLD),
            "parameters": {name: found.to_dict() for name, found in self.parameters.items()},
            "forecasts": {name: found.to_dict() for name, found in self.forecasts.items()},
            "by_lead": {
                "lead": list(told),
                "coverage": [one["coverage"][TOLD.index(0.9)] for one in told.values()],
                "spread_skill": [one["spread_skill"] for one in told.values()],
            },
            "energy": self.energy,
        }

    def plot(self, ax: Any = None) -> Any:
        """Observed against nominal coverage of each parameter and each state's forecast; returns the axes."""
        from greymatch.diagnostics.plots import plot_reliability

        return plot_reliability(self.rows(), ax)

    def rows(self) -> dict[str, Reliability]:
        """Parameters, then forecasts, by what people call them."""
        forecasts = {name: found for name, found in self.forecasts.items() if name != ALL or len(self.forecasts) > 2}
        return self.parameters | {f"forecast of {name}": found for name, found in forecasts.items()}

    def __str__(self) -> str:
        return "\n".join(f"{name}: {told}" for name, told in self.sentences().items())

    __repr__ = __str__
