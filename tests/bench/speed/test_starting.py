from __future__ import annotations

import json

from greymatch.bench.speed.starting import FIRST, run, spent


def test_work_of_another_process_is_counted() -> None:
    assert spent(["-c", "sum(n * n for n in range(3 * 10**6))"]) > 2 * spent(["-c", "pass"])


def test_the_first_step_of_a_process_compiles_nothing() -> None:
    found = json.loads(run(["-c", f"{FIRST}; import sys; assert 'torch._dynamo' not in sys.modules"]).stdout)
    assert 0 < found["first"] - found["later"] + 1 < 6
    assert found["until"] > found["first"]
