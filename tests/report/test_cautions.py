from __future__ import annotations

from dataclasses import replace

import torch

from greymatch.forecast.scores import score
from greymatch.report.cautions import cautions
from greymatch.training.run import fingerprint


def calibrated(evaluation):
    """The same with draws about as far from each other as from the truth."""
    forecast = evaluation.forecast
    generator = torch.Generator().manual_seed(0)
    shift = 0.1 * torch.randn(forecast.draws.shape[1:], generator=generator, dtype=torch.float64)
    spread = 0.1 * torch.randn(forecast.draws.shape, generator=generator, dtype=torch.float64)
    truth = evaluation.test.values[:, 8:]
    forecast = replace(forecast, draws=truth + shift + spread)
    return replace(evaluation, forecast=forecast, scores=score(forecast, evaluation.test))


def test_a_sound_model_gets_none(make) -> None:
    assert cautions(calibrated(make())) == ()


def test_bands_that_are_too_narrow_or_too_wide(make) -> None:
    evaluation = calibrated(make())
    draws = evaluation.forecast.draws
    narrow = replace(evaluation.forecast, draws=draws.mean(0) + 0.1 * (draws - draws.mean(0)))
    scores = score(narrow, evaluation.test)
    (told,) = cautions(replace(evaluation, forecast=narrow, scores=scores))
    assert "too narrow" in told
    assert f"{100 * scores.coverage:.0f} %" in told
    assert any("too wide" in one for one in cautions(make()))


def test_training_data_are_recognised(make) -> None:
    evaluation = calibrated(make())
    record = {"data": fingerprint(evaluation.test)}
    (told,) = cautions(replace(evaluation, model=replace(evaluation.model, record=record)))
    assert "trained on" in told


def test_failures_and_a_residual_that_takes_over(make) -> None:
    told = " ".join(cautions(make(failed=3, share=0.3)))
    assert "3 of 270 members" in told
    assert "residual does more" in told


def test_mse_and_nmse_that_disagree(make) -> None:
    evaluation = calibrated(make(states=("angle", "speed")))
    factor = torch.tensor([1.0, 1e-3], dtype=torch.float64)
    test = replace(evaluation.test, values=evaluation.test.values * factor)
    # the second state is small in its units, and forecast badly
    forecast = replace(evaluation.forecast, draws=evaluation.forecast.draws * factor)
    forecast.draws[..., 1] += 0.01
    references = {"zero": score(replace(forecast, draws=torch.zeros_like(forecast.draws)), test)}
    mixed = replace(evaluation, test=test, forecast=forecast, scores=score(forecast, test), references=references)
    assert mixed.beats_references
    assert any("By NMSE" in one and "does not" in one for one in cautions(mixed))


def test_noise_that_training_met(make) -> None:
    evaluation = calibrated(make())
    told = cautions(replace(evaluation, model=replace(evaluation.model, record={"noise": [0.9]})))
    assert any("largely unexplained" in one for one in told)


def test_intervals_of_parameters_that_miss_the_truth(make) -> None:
    evaluation = calibrated(make())
    assert evaluation.posterior is not None
    away = replace(evaluation.posterior, draws=evaluation.posterior.draws + 10)
    assert any("intervals of omega are too narrow" in one for one in cautions(replace(evaluation, posterior=away)))
