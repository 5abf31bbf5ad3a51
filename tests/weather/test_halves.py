from __future__ import annotations

import pytest
import torch

from greymatch.weather.settings import METHODS, WeatherSettings


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("able", "precision"), [({}, "32-true"), ({"amx_bf16": True}, "bf16-mixed"), ({"avx512_bf16": True}, "32-true")]
)
def test_half_precision_is_for_machines_that_have_it(
    monkeypatch: pytest.MonkeyPatch, method: str, able: dict[str, bool], precision: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: able)
    training = WeatherSettings.suited(method).training
    assert (training.precision, training.channels_last) == (precision, precision == "bf16-mixed")
