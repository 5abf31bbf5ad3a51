"""Files that earlier versions wrote must load and say the same for ever."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from greymatch.models.file import load
from greymatch.systems import pendulum

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("written", [1, 2])
def test_a_model_of_an_older_format_still_says_what_it_said(written: int):
    model = load(GOLDEN / f"pendulum-format-{written}.safetensors")
    said = json.loads((GOLDEN / f"pendulum-format-{written}.json").read_text())
    history = pendulum.data("test", trajectories=3, points=10)
    angle = model.forecast(history, [1.0, 1.5, 2.0], draws=1).draws[0, :, :, 0]
    np.testing.assert_allclose(angle, said["angle"], rtol=1e-3, atol=1e-3)  # forecasts start better now
    np.testing.assert_allclose(model.infer(history, draws=1).draws[0, :, 0], said["omega"], rtol=1e-3)


def test_using_a_model_loads_no_compiler():
    script = f"""
import sys
from greymatch.models.file import load
from greymatch.systems import pendulum
model = load({str(GOLDEN / "pendulum-format-2.safetensors")!r})
history = pendulum.data("test", trajectories=1, points=10)
model.forecast(history, [1.0, 1.5], draws=2)
model.infer(history, draws=2)
sys.exit("torch._dynamo" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
