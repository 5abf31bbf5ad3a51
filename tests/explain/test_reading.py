from __future__ import annotations

import torch

from greymatch.explain import Coefficient, Term
from greymatch.explain.reading import NEGLIGIBLE, _weighty

CUBE = Term((("b", 3),))


def test_a_term_that_the_data_make_next_to_nothing_is_dropped(asked, known):
    found = asked.explain(known[1])
    (drag,) = found.missing["b"]
    sizes, speeds = {drag.term: 1.0, CUBE: 2.0}, {"a": 1.0, "b": 1.0}
    ripple = Coefficient(CUBE, torch.full_like(drag.values, NEGLIGIBLE / 3), None)
    both = {"a": (), "b": (drag, ripple)}
    said = type(found)(found.known, both, found.fidelity, found.ignored, found.settings)
    assert _weighty(said, sizes, speeds).missing == {"a": (), "b": (drag,)}
    assert _weighty(said, {**sizes, CUBE: 4.0}, speeds).missing == both
