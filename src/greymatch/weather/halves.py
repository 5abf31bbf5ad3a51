"""Whether weather is computed in bfloat16 here."""

from __future__ import annotations

import torch

from greymatch.halves import units_work


def computes_in_half(device: str | None = None) -> bool:
    """Whether a kind of device, or else this machine, has units for it; elsewhere convolutions in bfloat16 take up to
    ten times as long."""
    on_gpu = torch.cuda.is_available() if device is None else device != "cpu"
    return on_gpu or units_work()
