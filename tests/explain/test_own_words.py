from __future__ import annotations

from dataclasses import replace

import torch

from greymatch.explain.distil import distil
from greymatch.explain.own_words import without_own_words
from greymatch.models.sparse import Fit


def test_what_a_parameter_could_say_is_left_to_it(asked, known):
    _, data, _, _ = known
    found = distil(asked.network, data)
    design = torch.stack([found.columns["a"], found.columns["b"]], -1)
    both = Fit((0, 1), torch.tensor([[1.0, 2.0]]), 0.1)
    left = without_own_words(both, found, design, equation=1)  # b' = -k a says what is in a, and nothing of b
    assert left.kept == (1,)
    assert left.coefficients.tolist() == [[2.0]]
    assert without_own_words(both, found, design, equation=0).kept == (0, 1)


def test_without_parameters_every_term_stays(asked, known):
    found = distil(asked.network, known[1])
    bare = replace(found, slopes=found.slopes[..., :0])
    fit = Fit((0,), torch.ones(1, 1), 0.1)
    assert without_own_words(fit, bare, found.columns["a"][:, None], equation=1).kept == (0,)
