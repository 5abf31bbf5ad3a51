from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from greymatch import halves
from greymatch.halves import BrokenUnitsWarning, spared, units_work, warn_of_broken
from greymatch.settings import TrainingSettings
from greymatch.training.device import fabric

NAMED = {"amx_bf16": True}
ENDS = "import os, signal; os.kill(os.getpid(), signal.SIGABRT)"


@pytest.fixture(autouse=True)
def untried() -> Iterator[None]:
    halves._tried.cache_clear()
    yield
    halves._tried.cache_clear()


def named(monkeypatch: pytest.MonkeyPatch, able: dict[str, bool], trial: str) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: able)
    monkeypatch.setattr(halves, "TRIAL", trial)


def uses_onednn() -> bool:
    return torch.backends.mkldnn.enabled is True


@pytest.mark.parametrize(
    ("trial", "works"),
    [("print('done')", True), ("raise SystemExit(1)", False), (ENDS, False), ("import time; time.sleep(60)", False)],
)
def test_units_work_if_a_trial_ends_well(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], trial: str, works: bool
) -> None:
    named(monkeypatch, NAMED, trial)
    monkeypatch.setattr(halves, "PATIENCE_SECONDS", 2.0 if "sleep" in trial else 60.0)
    assert units_work() is works
    assert capfd.readouterr() == ("", "")


def test_they_are_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    named(monkeypatch, NAMED, "raise SystemExit(1)")
    assert not units_work()
    monkeypatch.setattr(halves, "TRIAL", "pass")
    assert not units_work()


@pytest.mark.parametrize(
    ("able", "precision", "device"),
    [
        ({}, "bf16-mixed", "cpu"),
        ({"avx512_bf16": True}, "bf16-mixed", "cpu"),
        (NAMED, "32-true", "cpu"),
        (NAMED, "64-true", "cpu"),
        (NAMED, "bf16-mixed", "cuda"),
    ],
)
def test_nobody_else_pays_for_a_trial(
    monkeypatch: pytest.MonkeyPatch, able: dict[str, bool], precision: str, device: str
) -> None:
    named(monkeypatch, able, ENDS)

    def refused(*words: Any, **more: Any) -> None:
        raise AssertionError(words)

    monkeypatch.setattr(subprocess, "run", refused)
    assert able == NAMED or not units_work()
    warn_of_broken(precision, device)
    with spared(precision, device):
        assert uses_onednn()


@pytest.mark.parametrize("precision", ["bf16-mixed", "16-mixed"])
def test_broken_units_are_left_alone_for_as_long_as_asked(monkeypatch: pytest.MonkeyPatch, precision: str) -> None:
    named(monkeypatch, NAMED, ENDS)

    def fails() -> None:
        with spared(precision, "cpu"):
            assert not uses_onednn()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert uses_onednn()


def test_units_that_work_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    named(monkeypatch, NAMED, "pass")
    warn_of_broken("bf16-mixed", "cpu")
    with spared("bf16-mixed", "cpu"):
        assert uses_onednn()


def test_who_asks_for_broken_units_is_told_what_is_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    named(monkeypatch, NAMED, ENDS)
    with pytest.warns(BrokenUnitsWarning, match="training.precision='32-true' is faster here") as told:
        fabric(TrainingSettings(precision="bf16-mixed", device="cpu"))
    assert len(told) == 1


def test_what_autocast_computes_here_is_right(seed: int) -> None:
    """Wherever this runs: with units, with broken ones or without."""
    image, kernel = torch.randn(4, 16, 12, 12), torch.randn(32, 16, 3, 3, requires_grad=True)
    exact = torch.nn.functional.conv2d(image, kernel)
    with spared("bf16-mixed", "cpu"):
        with torch.autocast("cpu", torch.bfloat16):
            found = torch.nn.functional.conv2d(image, kernel)
        found.float().square().sum().backward()
    torch.testing.assert_close(found.float(), exact, rtol=0.05, atol=0.3)
    assert kernel.grad is not None
    assert bool(kernel.grad.isfinite().all())
