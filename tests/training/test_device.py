from __future__ import annotations

import pytest

from greymatch.errors import GreymatchError
from greymatch.settings import TrainingSettings
from greymatch.training.device import Launched, check_launched

TORCHRUN = {"TORCHELASTIC_RUN_ID": "a", "WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "4", "RANK": "5"}
SLURM = {"SLURM_NTASKS": "6", "SLURM_NNODES": "2", "SLURM_PROCID": "3", "SLURM_JOB_NAME": "fit"}


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({}, Launched(1, 1, 0)),
        (TORCHRUN, Launched(4, 2, 5)),
        (SLURM, Launched(3, 2, 3)),
        (SLURM | {"SLURM_JOB_NAME": "interactive"}, Launched(1, 1, 0)),
    ],
)
def test_what_a_launcher_started_is_known(
    environment: dict[str, str], wanted: Launched, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in TORCHRUN | SLURM:
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert Launched.here() == wanted


def test_what_was_launched_serves_who_asks_for_nothing() -> None:
    check_launched(TrainingSettings(), Launched(4, 2, 0))
    check_launched(TrainingSettings(devices=4, nodes=2), Launched(4, 2, 0))
    with pytest.raises(GreymatchError, match="8 were launched"):
        check_launched(TrainingSettings(devices=3), Launched(4, 2, 0))
    with pytest.raises(GreymatchError, match="torchrun --nnodes 2 --nproc-per-node 3"):
        check_launched(TrainingSettings(devices=3, nodes=2), Launched(1, 1, 0))
