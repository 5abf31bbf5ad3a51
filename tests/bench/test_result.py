from __future__ import annotations

import json
import math

import numpy as np

from greymatch.bench.result import plain


def test_plain_is_what_json_knows() -> None:
    tree = {"a": np.float32(0.5), 1: [math.nan, math.inf, np.int64(3)], "b": (True, None, "x"), "c": np.bool_(False)}
    assert plain(tree) == {"a": 0.5, "1": [None, None, 3], "b": [True, None, "x"], "c": False}
    json.dumps(plain(tree), allow_nan=False)
