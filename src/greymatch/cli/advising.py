"""What was missing, for commands that go on without an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from greymatch.errors import GreymatchError

if TYPE_CHECKING:
    from greymatch.cli.output import Output
    from greymatch.data.trajectories import Trajectories
    from greymatch.explain.advice import Advice
    from greymatch.models.greybox import GreyBox


def advised(model: GreyBox, train: Trajectories | None, output: Output) -> Advice | None:
    """Nothing where there is no training data, or a residual that cannot be explained: that is told."""
    from greymatch.explain.advice import advise

    try:
        return None if train is None else advise(model, train)
    except GreymatchError as error:
        output.note(f"the residual is not explained: {error}")
        return None
