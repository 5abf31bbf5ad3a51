"""Whether this machine computes in bfloat16, or only pretends to."""

from __future__ import annotations

import torch

_UNITS = ("amx_bf16", "avx512_bf16")  # of processors


def computes_in_half() -> bool:
    """Whether there is a GPU or a processor for it; elsewhere convolutions in bfloat16 take ten times as long."""
    able = torch.cpu.get_capabilities()
    return torch.cuda.is_available() or any(able.get(unit, False) for unit in _UNITS)
