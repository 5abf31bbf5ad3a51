"""A moment that the user names, by a number or by its date, as a time of each trajectory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from greymatch.data.dates import counted
from greymatch.errors import GreymatchError

if TYPE_CHECKING:
    from greymatch.data.trajectories import Trajectories

Moment = float | str | np.datetime64


def moment(data: Trajectories, asked: object, argument: str) -> np.ndarray:
    """The time (N,) in each trajectory; one date is another time in each, since they count from their own starts."""
    try:
        return np.full(len(data), float(asked))  # pyright: ignore[reportArgumentType] - what is none raises
    except (TypeError, ValueError):
        pass
    date = _date(asked)
    if date is None or data.epoch is None:
        why = "" if date is None else ": the times of these data are no dates"
        raise GreymatchError(
            f"`{argument}` must be a number, in the unit of the data's times{_or_date(data)}; got {asked!r}{why}."
        )
    return counted(np.full((len(data), 1), date), data.units.get("time"), data.epoch)[0][:, 0]


def _or_date(data: Trajectories) -> str:
    return "" if data.epoch is None else ", or an ISO date such as 2024-05-01 08:00"


def _date(asked: object) -> np.datetime64 | None:
    """The date in UTC, as data files are read; None for what is none."""
    import pandas as pd

    try:
        date = pd.to_datetime(str(asked), format="ISO8601", utc=True)
    except ValueError:
        return None
    return None if pd.isna(date) else date.tz_localize(None).to_datetime64()
