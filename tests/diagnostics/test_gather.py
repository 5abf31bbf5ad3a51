from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from greymatch.bench.result import plain
from greymatch.data.trajectories import Trajectories
from greymatch.diagnostics.gather import calibration_of
from greymatch.forecast.forecast import Forecast
from greymatch.forecast.posterior import Posterior
from greymatch.forecast.scores import score

NAN, INF = math.nan, math.inf
TIMES = torch.arange(6).double()


@pytest.fixture
def recorded(recording, seed) -> Trajectories:
    """60 trajectories of two states in different units, of uneven length and with gaps."""
    values = torch.randn(60, 6, 2, dtype=torch.float64) * torch.tensor([1.0, 1000.0])
    values[::3, 4:] = NAN
    values[1, 3, 0] = NAN
    times = TIMES.repeat(60, 1)
    times[::3, 4:] = INF
    return recording(times, values)


def forecast_of(recorded: Trajectories, width: float = 1.0, draws: int = 99) -> Forecast:
    """Draws about the truth's own law: honest for a width of 1."""
    drawn = width * torch.randn(draws, 60, 5, 2, dtype=torch.float64) * torch.tensor([1.0, 1000.0])
    return Forecast.of(recorded.first(1), recorded.times[:, 1:], drawn)


def test_figures_are_those_of_the_scores(recorded):
    forecast = forecast_of(recorded)
    found, table = calibration_of(forecast, recorded), score(forecast, recorded).table().to_dict("index")
    assert list(found.forecasts) == ["x0", "x1", "all"]
    for name in ("x0", "x1"):
        judged = found.forecasts[name]
        assert judged.at(0.9) == pytest.approx(table[name]["coverage"])
        assert judged.crps == pytest.approx(table[name]["crps"])
        assert judged.spread_skill.ratio == pytest.approx(table[name]["spread_skill"])
        assert judged.values == table[name]["count"]
    assert found.forecasts["all"].at(0.9) == pytest.approx(table["all"]["coverage"])


def test_units_of_the_states_do_not_matter_to_all(recorded):
    forecast = forecast_of(recorded)
    factor = torch.tensor([1.0, 1e-3])
    scaled = replace(recorded, values=recorded.values * factor)
    one = calibration_of(forecast, recorded)
    other = calibration_of(replace(forecast, draws=forecast.draws * factor), scaled)
    assert one.forecasts["all"].crps == pytest.approx(other.forecasts["all"].crps)
    assert one.energy == pytest.approx(other.energy)


def test_bands_that_narrow_with_lead_are_found_where_they_are(recorded):
    forecast = forecast_of(recorded)
    draws = forecast.draws.clone()
    draws[:, :, 3:] *= 0.3
    leads = calibration_of(replace(forecast, draws=draws), recorded).leads
    assert list(leads) == pytest.approx([1.0, 2.0, 3.0, 4.0, 5.0])
    early, late = np.split(np.array([found.at(0.9) for found in leads.values()]), [3])
    assert early.min() > 0.8 > 0.6 > late.max()
    assert list(leads.values())[-1].spread_skill.ratio == pytest.approx(0.3, abs=0.05)


def test_parameters_are_judged_where_their_truth_is_known(recorded, toy):
    draws, truth = toy(60, 400)
    truth[5] = NAN
    posterior = Posterior(("a", "b"), torch.stack([draws, draws], -1), recorded.labels)
    known = replace(recorded, truth={"a": truth.numpy(), "c": truth.numpy()})
    found = calibration_of(forecast_of(known), known, posterior, {"a": 2.0, "b": 1.0})
    assert list(found.parameters) == ["a"]
    assert found.parameters["a"].values == 59
    assert found.energy["parameters"] == pytest.approx(found.parameters["a"].crps / 2)  # in units of the prior's


def test_fields_are_judged_at_some_of_their_pixels(seed, recording):
    truth = recording([0.0, 1.0, 2.0], torch.randn(8, 3, 1, 20, 20).double(), grid=("y", "x"))
    draws = torch.randn(19, 8, 2, 1, 20, 20).double()
    found = calibration_of(Forecast.of(truth.first(1), truth.times[:, 1:], draws), truth).forecasts["all"]
    assert found.values == 8 * 2 * 64
    assert found.at(0.5) == pytest.approx(0.5, abs=0.05)


def test_the_record_is_small_and_fits_json(recorded):
    found = calibration_of(forecast_of(recorded), recorded)
    told = json.loads(json.dumps(plain(found.to_dict()), allow_nan=False))
    assert told["levels"] == [0.5, 0.8, 0.9, 0.95]
    assert told["forecasts"]["x0"]["coverage"][2] == found.forecasts["x0"].at(0.9)
    assert len(told["by_lead"]["lead"]) == len(told["by_lead"]["coverage"]) == 5
    assert len(json.dumps(told)) < 2000


def test_it_prints_words_and_a_table(recorded):
    found = calibration_of(forecast_of(recorded, width=0.3), recorded)
    assert str(found).count("Over-confident") == 3
    table = found.table()
    assert table.index.tolist() == ["forecast of x0", "forecast of x1", "forecast of all"]
    assert table["verdict"].tolist() == ["over-confident"] * 3
    assert table["90 %"].to_dict()["forecast of x0"] == found.forecasts["x0"].at(0.9)
