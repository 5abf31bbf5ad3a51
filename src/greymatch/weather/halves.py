"""Whether this machine computes in bfloat16, or only pretends to."""

from __future__ import annotations

import torch

_UNIT = "amx_bf16"  # of processors; with vector instructions alone (avx512_bf16) float32 is half as fast again


def computes_in_half() -> bool:
    """Whether there is a GPU or a processor for it; elsewhere convolutions in bfloat16 take up to ten times as long."""
    return torch.cuda.is_available() or torch.cpu.get_capabilities().get(_UNIT, False)
