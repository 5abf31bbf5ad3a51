from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from greymatch import halves
from greymatch.weather.halves import computes_in_half
from greymatch.weather.settings import METHODS, WeatherSettings

ALIKE = "import torch; a = torch.ones(256, 256, dtype=torch.bfloat16); a @ a"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("able", "works", "precision"),
    [
        ({}, True, "32-true"),
        ({"amx_bf16": True}, True, "bf16-mixed"),
        ({"amx_bf16": True}, False, "32-true"),
        ({"avx512_bf16": True}, True, "32-true"),
    ],
)
def test_half_precision_is_for_machines_that_have_it(
    monkeypatch: pytest.MonkeyPatch, method: str, able: dict[str, bool], works: bool, precision: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: able)
    monkeypatch.setattr(halves, "_tried", lambda: works)
    training = WeatherSettings.suited(method).training
    assert (training.precision, training.channels_last) == (precision, precision == "bf16-mixed")


def test_a_gpu_does_not_help_what_is_on_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cpu, "get_capabilities", dict)
    assert computes_in_half()
    assert computes_in_half("cuda")
    assert not computes_in_half("cpu")


def test_what_is_chosen_on_this_machine_works_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    able = torch.cpu.get_capabilities().get("amx_bf16", False)
    works = able and subprocess.run([sys.executable, "-c", ALIKE], stderr=subprocess.DEVNULL).returncode == 0
    assert (WeatherSettings.suited("vgb-dm").training.precision == "bf16-mixed") == works
