"""The benchmarks, by name: each one is a view of the same runs."""

from __future__ import annotations

from greymatch.bench.benchmark import Benchmark
from greymatch.bench.views import (
    ablation,
    calibration,
    consistency,
    convergence,
    elbo,
    explain,
    noise,
    parameters,
    samples,
    table,
)

BENCHMARKS: dict[str, Benchmark] = {
    module.BENCHMARK.name: module.BENCHMARK
    for module in (table, convergence, samples, elbo, parameters, calibration, consistency, explain, ablation, noise)
}
