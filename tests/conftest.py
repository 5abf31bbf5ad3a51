"""What every test shares: one thread, one seed, no screen."""

from __future__ import annotations

import gc
import os
import random
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import hypothesis
import numpy as np
import pytest
import torch
import xarray as xr
from torch import Tensor, nn

from greymatch.data.scaling import Scales
from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Windows
from greymatch.matching.interpolants import interpolant
from greymatch.models import clean
from greymatch.models.greybox import GreyBox
from greymatch.models.network import Network
from greymatch.physics.physics import Physics
from greymatch.physics.priors import Normal
from greymatch.settings import Settings
from greymatch.systems import pendulum
from greymatch.training import beginning, calibration, certainty, polishing, validation
from greymatch.training.fit import fit
from greymatch.weather.fields import FORECAST
from greymatch.weather.layouts import wb1

COARSE = {1: clean.NEAR}
HURRIED: dict[ModuleType, dict[str, Any]] = {
    calibration: {"CLOSE": 1.0, "NARROW": 1e9, "DRAWS": 4, "MOST_TRAJECTORIES": 4},
    certainty: {"MOST_TRAJECTORIES": 4},
    validation: {"MOST_TRAJECTORIES": 4},
    clean: {"STEPS": COARSE, "FIELD_STEPS": COARSE, "SWEEPS": 1},
    polishing: {"STEPS": COARSE, "FIELD_STEPS": COARSE, "SWEEPS": 1, "WINDOWS": 8, "OF_FIELDS": 4},
    beginning: {"LONGEST": 0.0},
}

WITH_SMALL_MODEL = (
    "tests/bench/speed/test_reference_forecast.py",
    "tests/bench/test_explained.py",
    "tests/models/test_file",
    "tests/models/test_share.py",
    "tests/models/test_warm.py",
    "tests/systems/test_pendulum.py",
    "tests/test_evaluation.py",
    "tests/training/test_fit.py",
    "tests/training/test_suited.py",
)
TOGETHER: dict[str, tuple[str, ...]] = {
    "small_model": WITH_SMALL_MODEL,
    "pages": ("tests/docs/",),
    "weather commands": ("tests/cli/weather/",),
    "user": ("tests/cli/test_",),
    "solvers": ("tests/training/test_solver_in_the_loop.py",),
    "turned": ("tests/training/test_tfm.py",),
    "noise": ("tests/data/test_noise.py",),
    "cost": ("tests/weather/bench/test_cost.py",),
    "report": ("tests/report/test_build.py",),
    "wheel": ("tests/test_wheel.py",),
    "simulation": ("tests/weather/simulation/",),
}

Damped = tuple[Network, Trajectories, Tensor, Tensor]

os.environ["MPLBACKEND"] = "Agg"
torch.set_num_threads(1)  # the tests run in parallel processes already
# a shell that runs the tests in its background lets them ignore Ctrl-C, and all that they start
signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline: a loaded machine is not a failure. Derandomised: a failure here is a failure everywhere.
hypothesis.settings.register_profile("greymatch", deadline=None, derandomize=True)
hypothesis.settings.load_profile("greymatch")


def pytest_configure(config: pytest.Config) -> None:
    # forward-mode differentiation makes PyTorch load decompositions that it scripts itself
    config.addinivalue_line("filterwarnings", "ignore:.torch.jit.script. is deprecated:DeprecationWarning")
    # models fitted for a second know little, and rightly say so
    config.addinivalue_line("filterwarnings", "ignore::greymatch.models.unusual.UnusualHistoryWarning")
    config.addinivalue_line("filterwarnings", "ignore::greymatch.models.share.ResidualTookOverWarning")
    # some machines that tests run on have broken units, and say so
    config.addinivalue_line("filterwarnings", "ignore::greymatch.halves.BrokenUnitsWarning")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """What is loaded stays: to look through it for garbage again and again takes seconds."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests that share what takes long to make run in one process, which makes it once.

    For `--dist loadgroup`, whose own marks do nothing with pytest 9.2 and xdist 3.8: they go by names of tests that
    pytest no longer reads.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return next((group for group, files in TOGETHER.items() if nodeid.startswith(files)), nodeid)

    return Together(config, log) if config.getvalue("dist") == "loadgroup" else None


@pytest.fixture
def seed() -> int:
    """Seed every global generator, and give the seed for the generators a test makes itself."""
    value = 20240
    random.seed(value)
    np.random.seed(value)  # noqa: NPY002 - the legacy generator is the one that is global
    torch.manual_seed(value)
    return value


@pytest.fixture(scope="session")
def hurry() -> Callable[[], AbstractContextManager[None]]:
    """`with hurry(): fit(...)`, where nobody judges forecasts or digits: few draws, trajectories, sweeps and steps for
    what begins and ends a fit. A model of few steps is slow to solve, and to calibrate it takes far longer than they.
    """

    @contextmanager
    def hurried() -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            for module, changes in HURRIED.items():
                for name, value in changes.items():
                    patch.setattr(module, name, value)
            yield

    return hurried


@pytest.fixture
def roughly(hurry: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    """The whole test in a `hurry`."""
    with hurry():
        yield


@pytest.fixture(scope="session")
def swings() -> tuple[Trajectories, Trajectories]:
    """Damped pendulums, 48 to learn from and 24 to be judged on, 6 seconds each at 10 Hz."""
    return pendulum.data("train", trajectories=48, points=60), pendulum.data("test", trajectories=24, points=60)


@pytest.fixture(scope="session")
def small_settings() -> Settings:
    """Small nets and batches: a step takes a few milliseconds."""
    small = {"encoder.width": 32, "residual.width": 32, "training.batch": 64, "training.validations": 4}
    return Settings(window=10).updated({**small, "training.ema": 0.99, "training.rate": 5e-3})


@pytest.fixture(scope="session")
def small_model(swings: tuple[Trajectories, Trajectories], small_settings: Settings) -> GreyBox:
    """A pendulum fitted in a few seconds, with a history of 10 points: good enough to beat the trivial forecasts."""
    return fit(pendulum.physics, swings[0], settings=small_settings, steps=400, quiet=True)


@pytest.fixture(scope="session")
def recording() -> Callable[..., Trajectories]:
    """`recording(times, values, labels=None, **more)` from nested lists or tensors; NaN is a gap."""
    return _recording


def _recording(times: object, values: object, labels: object = None, **more: Any) -> Trajectories:
    clock = torch.as_tensor(times, dtype=torch.float64)
    array = torch.as_tensor(values)
    clock = clock.repeat(len(array), 1) if clock.ndim == 1 else clock
    array = array[..., None] if array.ndim == 2 else array
    names = tuple(f"x{i}" for i in range(array.shape[2]))
    chosen = np.arange(len(array)) if labels is None else np.asarray(labels)
    seen = array.isfinite()
    return Trajectories(names, clock, array.nan_to_num(nan=0.0), seen, chosen, **more)


@pytest.fixture
def damped() -> Damped:
    """b' = -k a - d b: the physics misses the damping d, which differs between trajectories. Network, data, k and d."""
    generator = torch.Generator().manual_seed(0)
    k, d = 2 + 0.4 * torch.randn(12, generator=generator).double(), torch.rand(12, generator=generator).double()
    t = torch.arange(30, dtype=torch.float64) * 0.1
    root = (k - d**2 / 4).sqrt()[:, None]
    rate = d[:, None] / 2
    a = (-rate * t).exp() * ((root * t).cos() + rate / root * (root * t).sin())
    b = -(-rate * t).exp() * (k[:, None] / root) * (root * t).sin()
    values = torch.stack([a, b], -1)
    data = Trajectories(("a", "b"), t.repeat(12, 1), values, torch.ones_like(values, dtype=torch.bool), np.arange(12))
    physics = Physics(lambda t, x, p: {"a": x.b, "b": -p.k * x.a}, ["a", "b"], {"k": Normal(2.0, 0.4)}, complete=("a",))
    settings = Settings(window=12).updated({"encoder.latents": 1, "residual.depth": 1})
    scales = Scales.of(data, interpolant("quintic")(data.times, data.values, data.mask))
    network = Network.fitting(physics, settings, scales, Windows.of(data, 12).gather(torch.zeros(1, dtype=torch.long)))
    return network, data, k, d


@pytest.fixture
def known(damped: Damped) -> Damped:
    """The same with the true residual in place of the net; it is linear in eps = (k - 2) / 0.4 and z = 2 d - 1."""
    network = damped[0]
    network.dynamics.field = Known(network)  # pyright: ignore[reportAttributeAccessIssue]
    return damped


@pytest.fixture
def asked(known: Damped) -> GreyBox:
    """That network as a model which asks each window itself."""
    network = known[0]
    network.refined.fill_(1.0)
    return GreyBox(network.physics, network)


class Known(nn.Module):
    """The true residual in the nets' own units: -(0.5 + z / 2) b in the second equation."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        dynamics = network.dynamics
        self.center, self.spread, self.top = (
            dynamics.scales_center[1],
            dynamics.scales_spread[1],
            dynamics.scales_top[1],
        )

    def forward(self, state: Tensor, extra: Tensor) -> Tensor:
        b = self.center + self.spread * state[..., 1]
        pull = -(0.5 + 0.5 * extra[..., 0]) * b / self.top
        return torch.stack([torch.zeros_like(pull), pull], -1)


@pytest.fixture(scope="session")
def atmosphere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Noise about a season, on 4 x 8 points, for three years: an archive that the pages can read."""
    folder, rng = tmp_path_factory.mktemp("atmosphere"), np.random.default_rng(0)
    axes = {"lat": np.arange(4) * 45 - 67.5, "lon": np.arange(8) * 45.0}
    still = xr.Dataset({name: (("lat", "lon"), np.zeros((4, 8))) for name in ("orography", "land")}, axes)
    for year in (2015, 2016, 2017):
        times = np.arange(f"{year}-01-01", f"{year + 1}-01-01", 6, dtype="datetime64[h]").astype("datetime64[ns]")
        season = np.cos(np.linspace(0, 2 * np.pi, len(times)))[:, None, None]
        maps = {name: (("time", "lat", "lon"), season + rng.normal(size=(len(times), 4, 8))) for name in FORECAST}
        wb1.write_year(folder, year, xr.Dataset(maps, axes | {"time": times}), still)
    return folder
