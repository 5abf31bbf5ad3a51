from __future__ import annotations

import math

import pytest
import torch

from greymatch.errors import GreymatchError
from greymatch.explain.terms import Term, candidates


def test_all_monomials_up_to_the_degree_are_candidates_once():
    terms = candidates(("u", "v", "w"), 3)
    assert len(set(terms)) == len(terms) == math.comb(6, 3)
    assert terms[0] == Term(())
    assert max(sum(power for _, power in term.powers) for term in terms) == 3


def test_a_term_reads_as_one_writes_it():
    assert Term((("u", 1), ("w", 2))).text == "u w^2"
    assert Term((("u", 1), ("w", 2))).identifier == "u_w2"
    assert Term(()).text == "1"
    assert Term(()).identifier.isidentifier()


def test_a_term_is_the_product_of_its_powers():
    columns = {"u": torch.tensor([2.0, 3.0]), "w": torch.tensor([5.0, -1.0])}
    assert Term((("u", 1), ("w", 2))).values(columns).tolist() == [50.0, 3.0]
    assert Term(()).values(columns).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(("names", "degree", "message"), [(("u",), 0, "at least 1"), (tuple("abcdefghij"), 4, "among")])
def test_a_library_that_cannot_be_is_refused(names: tuple[str, ...], degree: int, message: str):
    with pytest.raises(GreymatchError, match=message):
        candidates(names, degree)


def test_terms_that_differ_have_names_that_differ():
    named = [Term(((name, 1), ("v", 1))).identifier for name in ("v", "|v|", "sqrt(v)", "v/(0.5 + |v|)", "dv/dx")]
    assert len(set(named)) == len(named)
    assert all(name.isidentifier() for name in named)
