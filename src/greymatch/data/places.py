"""Where the rows of a long table go."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from greymatch.data.axes import plain
from greymatch.errors import GreymatchError


@dataclass(frozen=True, eq=False)
class Places:
    """The rows of each trajectory: `counts` (N,) of them, together and in order once taken by `order`.

    Without an `order` the rows stand so already, as they mostly do.
    """

    labels: np.ndarray
    counts: np.ndarray
    order: np.ndarray | None = None

    def spread(self, column: np.ndarray) -> np.ndarray:
        """The column as (trajectory, point), NaN or NaT after each trajectory's end."""
        grouped = column if self.order is None else column[self.order]
        longest = int(self.counts.max())
        if (self.counts == longest).all():
            return grouped.reshape(len(self.counts), longest)
        missing = np.array("NaT" if column.dtype.kind in "mM" else np.nan, column.dtype)
        out = np.full((len(self.counts), longest), missing)
        out[np.arange(longest) < self.counts[:, None]] = grouped
        return out

    def first(self, column: np.ndarray) -> np.ndarray:
        """The column's first value in each trajectory."""
        starts = np.cumsum(self.counts) - self.counts
        return column[starts if self.order is None else self.order[starts]]


def places(ids: pd.Series) -> Places:
    """The rows by their label, trajectories in the order of their first rows."""
    runs = _runs(ids.to_numpy()) if ids.dtype.kind in "iuf" and not ids.hasnans else None
    return _factored(ids) if runs is None else runs


def _runs(ids: np.ndarray) -> Places | None:
    """Labels that each stand in one run of rows; None where one comes again, or is missing."""
    starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
    labels = ids[starts]
    if not pd.Index(labels).is_unique or pd.isna(labels).any():
        return None
    return Places(labels.copy(), np.diff(starts, append=len(ids)))


def _factored(ids: pd.Series) -> Places:
    codes, labels = pd.factorize(ids)
    if (codes < 0).any():
        raise GreymatchError(
            f"every row needs a {ids.name!r}, its trajectory; row {np.argmin(codes)} (from 0) has none. "
            "Fill it in, or drop the row."
        )
    codes, met = pd.factorize(codes)  # labels of a dictionary come in its order, not in that of the rows
    labels = np.asarray(labels)[met]
    # a stable sort of the narrowest integers takes linear time
    order = np.argsort(codes.astype(np.min_scalar_type(len(labels))), kind="stable")
    return Places(plain(labels), np.bincount(codes), order)
