"""Files that earlier versions wrote must load and say the same for ever."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from greymatch.models.file import load
from greymatch.systems import pendulum

GOLDEN = Path(__file__).parent / "golden"


def test_a_model_of_format_1_still_says_what_it_said():
    model = load(GOLDEN / "pendulum-format-1.safetensors")
    said = json.loads((GOLDEN / "pendulum-format-1.json").read_text())
    history = pendulum.data("test", trajectories=3).first(10)
    angle = model.forecast(history, [1.0, 1.5, 2.0], draws=1).draws[0, :, :, 0]
    np.testing.assert_allclose(angle, said["angle"], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(model.infer(history, draws=1).draws[0, :, 0], said["omega"], rtol=1e-3)
