"""What the optimiser carries along besides weights: running means of noise and of gradient size."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class RunningMean:
    """An exponential mean that starts as a plain one: decay min(decay, n / (n + 9))."""

    value: Tensor
    count: float
    decay: float

    @staticmethod
    def starting(value: Tensor, decay: float) -> RunningMean:
        return RunningMean(value, 0.0, decay)

    def updated(self, new: Tensor) -> RunningMean:
        keep = min(self.count / (self.count + 9), self.decay)
        return RunningMean(torch.lerp(new.to(self.value), self.value, keep), self.count + 1, self.decay)
