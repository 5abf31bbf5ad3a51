from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from greymatch.data.scaling import Scales
from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Windows
from greymatch.matching.observed import interpolated
from greymatch.models.curves import Curve
from greymatch.models.network import Network
from greymatch.physics.physics import Physics
from greymatch.settings import Settings
from greymatch.training.shown import Shown
from greymatch.training.vocabulary import Vocabulary

NOISE = 0.02


@pytest.fixture(scope="module")
def vocabulary(decay: Physics, decays: Callable[..., Trajectories], tiny: Settings) -> Vocabulary:
    clean, settings = decays(6), tiny.updated({"residual.products": 2})
    drawn = torch.randn(clean.values.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    data = replace(clean, values=clean.values + NOISE * drawn, noise=(NOISE,))
    path = interpolated(data, settings, decay.order)
    window = Windows.of(data, settings.window).gather(torch.zeros(1, dtype=torch.long))
    network = Network.fitting(decay, settings, Scales.of(data, path), window)
    shown = Shown.of(network, data)
    assert shown is not None
    return Vocabulary.of(network, shown, torch.zeros(shown.count, 1, dtype=torch.float64))


def plain(vocabulary: Vocabulary) -> list[int]:
    """Words without curves."""
    return [place for place, word in enumerate(vocabulary.words) if not any(isinstance(part, Curve) for part in word)]


def test_what_a_word_would_leave_is_what_it_leaves(vocabulary: Vocabulary):
    added = vocabulary.left(0, ())[1][plain(vocabulary)]
    chosen = [vocabulary.left(0, (vocabulary.words[place],))[0] for place in plain(vocabulary)]
    torch.testing.assert_close(added, torch.tensor(chosen, dtype=added.dtype), atol=0.01, rtol=0)


def test_the_missing_product_leaves_least_and_says_nothing_twice(vocabulary: Vocabulary):
    added = vocabulary.left(0, ())[1][plain(vocabulary)]
    assert vocabulary.words[plain(vocabulary)[int(added.argmin())]] == ()  # a constant is missing
    once, again = vocabulary.left(0, ((),))
    assert float(again[vocabulary.words.index(())]) == pytest.approx(once, abs=1e-3)


def test_curves_that_products_say_as_well_are_no_words(vocabulary: Vocabulary):
    curves = {part for word in vocabulary.words for part in word if isinstance(part, Curve)}
    assert "tanh" in {one.shape for one in curves}
    columns = dict(zip(vocabulary.words, vocabulary.columns.flatten(0, 1).T, strict=True))
    for word, column in columns.items():
        if any(isinstance(part, Curve) for part in word):
            alike = [float(torch.cosine_similarity(column, columns[plain], 0)) for plain in ((), ("x",), ("x", "x"))]
            assert max(map(abs, alike)) < 1
