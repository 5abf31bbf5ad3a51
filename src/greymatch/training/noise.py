"""What the optimiser carries along besides weights: running means of noise and of gradient size."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class RunningMean:
    """An exponential mean that starts as a plain one: decay min(decay, n / (n + 9))."""

    value: Tensor
    count: Tensor
    decay: float

    @staticmethod
    def starting(value: Tensor, decay: float) -> RunningMean:
        return RunningMean(value, torch.zeros((), device=value.device), decay)

    def updated(self, new: Tensor) -> RunningMean:
        keep = torch.clamp(self.count / (self.count + 9), max=self.decay)
        return RunningMean(keep * self.value + (1 - keep) * new, self.count + 1, self.decay)
