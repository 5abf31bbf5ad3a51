from __future__ import annotations

import gc

from greymatch.training.frozen import Frozen


def test_what_was_there_is_not_looked_through_and_is_again_afterwards() -> None:
    before = gc.get_freeze_count()
    with Frozen():
        inside = gc.get_freeze_count()
        with Frozen():
            pass
        assert gc.get_freeze_count() > inside / 2  # the outer one still holds; some may have been let go of since
    assert inside > before == 0
    assert gc.get_freeze_count() == 0
