from __future__ import annotations

import gc

from greymatch.training.frozen import Frozen


def test_what_was_there_is_not_looked_through_and_is_again_afterwards() -> None:
    before = gc.get_freeze_count()
    with Frozen():
        inside = gc.get_freeze_count()
        with Frozen():
            assert gc.get_freeze_count() == inside
        assert gc.get_freeze_count() == inside  # the outer one still holds
    assert inside > before == 0
    assert gc.get_freeze_count() == 0
