from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

from greymatch.diagnostics.calibration import Calibration
from greymatch.diagnostics.points import Points
from greymatch.diagnostics.reliability import LEVELS, Reliability


def test_each_quantity_has_its_curve(toy):
    found = {name: Reliability.of(Points.of(*toy(50, 199, width))) for name, width in (("a", 0.5), ("b", 1.0))}
    calibration = Calibration(found, {"x": found["b"], "all": found["b"]}, {})
    ax = calibration.plot()
    lines = {str(line.get_label()): np.asarray(line.get_xydata()) for line in ax.lines}
    assert {"a", "b", "forecast of x"} <= set(lines)
    np.testing.assert_array_equal(lines["a"], np.stack([LEVELS, found["a"].coverage], 1))
    assert calibration.plot(ax) is ax
    plt.close(ax.figure)
