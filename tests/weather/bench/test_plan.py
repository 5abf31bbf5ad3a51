from __future__ import annotations

import numpy as np
import pytest

from greymatch.errors import GreymatchError
from greymatch.weather.archive import Archive
from greymatch.weather.axes import dates
from greymatch.weather.bench.plan import Run, thinned
from greymatch.weather.splits import Splits


def test_a_tenth_of_the_data_holds_all_seasons_and_leaves_other_years_whole(two_years: Archive) -> None:
    splits = Splits(train=(2010, 2010), val=(2011, 2011))
    kept = thinned(two_years, 0.1, splits)
    times = dates(kept.fields)
    learned = times[times.year == 2010]
    assert len(learned) == pytest.approx(0.1 * 365 * 4, rel=0.15)
    assert set(learned.quarter) == {1, 2, 3, 4}
    assert len(kept.years(2011, 2011)) == 365 * 4
    assert len(kept.years(2010, 2010).starts(4)) > 0.8 * len(learned)


def test_all_of_the_data_is_the_archive_itself(two_years: Archive) -> None:
    assert thinned(two_years, 1.0, Splits()) is two_years


def test_a_method_keeps_what_suits_it_under_what_is_asked() -> None:
    settings = Run("climode", 3, changes={"net.width": 16}).settings()
    assert (settings.net.width, settings.training.batch, settings.training.seed) == (16, 4, 3)
    assert settings.training.clock == "processor"


@pytest.mark.parametrize("share", [0.0, 1.5, np.nan])
def test_shares_beyond_all_are_refused(share: float) -> None:
    with pytest.raises(GreymatchError, match="must lie in"):
        Run("vgb-dm", 0, share)
