from __future__ import annotations

import numpy as np
import pytest
import torch

from greymatch.errors import GreymatchError
from greymatch.weather.archive import Archive
from greymatch.weather.climatology import Climatology
from greymatch.weather.model.attention import Latent, TemporalEncoder
from greymatch.weather.model.model import WeatherModel
from greymatch.weather.scores import evaluate


def test_the_divergence_is_that_of_normal_laws(seed: int) -> None:
    mean, std = torch.randn(2, 3, 4, 8), torch.rand(2, 3, 4, 8) + 0.1
    law, usual = torch.distributions.Normal(mean, std), torch.distributions.Normal(0.0, 1.0)
    expected = torch.distributions.kl_divergence(law, usual).sum(1).mean()
    torch.testing.assert_close(Latent(mean, std).divergence(), expected)
    assert float(Latent(mean).divergence()) == 0


def test_the_law_is_drawn_by_the_noise_given(seed: int) -> None:
    encoder = TemporalEncoder(2, 3, 4, 2, variational=True)
    latent = encoder(torch.randn(1, 2, 4, 8), torch.randn(1, 3, 2, 4, 8))
    assert latent.std is not None
    torch.testing.assert_close(latent.drawn(None), latent.mean)
    torch.testing.assert_close(latent.drawn(torch.ones_like(latent.mean)), latent.mean + latent.std)


def test_members_differ_and_each_start_has_its_own_noise(network_of, sample: Archive) -> None:
    model = WeatherModel(network_of(loud=0.5, net__variational=True))
    starts = sample.times[2:4]
    both, one = (model.predictor(sample, [6], draws=3)(some) for some in (starts, starts[1:]))
    assert both["t2m"].dims == ("time", "lead", "member", "lat", "lon")
    assert float(both["t2m"].std("member").mean()) > 0
    np.testing.assert_allclose(both["t2m"].values[1:], one["t2m"].values, rtol=1e-4)


def test_ensembles_are_judged_by_crps_and_spread(network_of, sample: Archive, two_years: Archive) -> None:
    model = WeatherModel(network_of(loud=0.5, net__variational=True))
    usual = Climatology(sample.names, sample.maps(sample.times).mean(0)[None, None].repeat(366, 0).repeat(4, 1), 6)
    found = evaluate(model.predictor(sample, [6], draws=3), sample, usual, [6], sample.times[2:4])
    assert (found["crps"] > 0).all()
    assert np.isfinite(found["spread_skill"]).all()


@pytest.mark.parametrize("changes", [{}, {"method": "climode", "net__variational": True}])
def test_a_model_without_drawn_latents_makes_no_ensemble(network_of, sample: Archive, changes: dict) -> None:
    with pytest.raises(GreymatchError, match="latents are drawn"):
        WeatherModel(network_of(**changes)).predictor(sample, [6], draws=2)(sample.times[2:3])
