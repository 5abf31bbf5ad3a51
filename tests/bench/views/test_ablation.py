from __future__ import annotations

from typing import Any

import pytest

from greymatch.bench.benchmark import Choice, Plan
from greymatch.bench.variants import VARIANTS
from greymatch.bench.views.ablation import plan, view
from greymatch.settings import Settings
from greymatch.settings_tree import known_keys


@pytest.fixture(scope="module")
def pendulum_plan() -> Plan:
    return plan(Choice(["pendulum"], [], [0]))


def test_a_linear_interpolant_is_left_out_of_a_second_order_system_with_the_reason(pendulum_plan: Plan) -> None:
    found = pendulum_plan
    assert not any(run.label == "linear" for run in found.runs)
    assert any("linear: left out" in reason and "no acceleration" in reason for reason in found.skipped)
    assert any(run.label == "linear" for run in plan(Choice(["lorenz"], [], [0])).runs)


def test_what_the_method_does_already_is_left_out(pendulum_plan: Plan) -> None:
    assert any("quintic: left out. The method is so already." in reason for reason in pendulum_plan.skipped)
    cubic = Choice(["pendulum"], [], [0], {"matching.interpolant": "cubic"})
    assert {run.label for run in plan(cubic).runs} >= {"quintic", "lagrange-3"}


def test_a_variant_wins_over_what_is_set_for_all() -> None:
    runs = {run.label: run for run in plan(Choice(["pendulum"], [], [0], {"matching.size": 0.1})).runs if run.label}
    assert runs["no-size"].settings().matching.size == 0.0
    assert runs["no-sensitivity"].settings().matching.size == 0.1


def test_one_step_ahead_is_the_systems_own_step(pendulum_plan: Plan) -> None:
    (run,) = [run for run in pendulum_plan.runs if run.label == "next-step"]
    assert run.settings().matching.horizon == pytest.approx(0.1)


def test_names_are_distinct_and_no_other_benchmarks(pendulum_plan: Plan) -> None:
    names = [run.name for run in pendulum_plan.runs]
    assert len(set(names)) == len(names)
    assert {"pendulum-vgb-dm-whole-0", "pendulum-gb-dm-net-0", "pendulum-vbb-dm-net-0"} <= set(names)


def test_all_but_the_whole_learn_with_a_net_alone(pendulum_plan: Plan) -> None:
    products = {run.label: run.settings().residual.products for run in pendulum_plan.runs}
    assert products.pop("whole") is None
    assert set(products.values()) == {0}


def test_settings_that_variants_change_exist_or_are_left_out_with_a_reason(pendulum_plan: Plan) -> None:
    unknown = {key for variant in VARIANTS for key in variant.changes} - set(known_keys(Settings))
    skipped = pendulum_plan.skipped
    assert all(any(key in reason for reason in skipped) for key in unknown)


def test_each_variant_is_compared_with_the_net(result: Any) -> None:
    found = {"whole": ("vgb-dm", 0.2), "net": ("vgb-dm", 2.0), "no-size": ("vgb-dm", 6.0)}
    results = [result(method, error, label=label) for label, (method, error) in found.items()]
    results.append(result("vbb-dm", 1.0, label="net"))
    rows = view(results).sheets["ablation"].rows
    assert [(row["variant"], row["times"]) for row in rows] == [
        ("vgb-dm as it is", 0.1),
        ("none, nor products: a net alone", 1.0),
        ("none on its size", 3.0),
        ("none (vbb-dm)", 0.5),
    ]
    assert rows[0]["parameters"] == "omega 0.5"
