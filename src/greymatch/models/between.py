"""Inputs between points of a window: as they are known to run there, or by the polynomial that suits them best."""

from __future__ import annotations

import torch
from torch import Tensor

from greymatch.data.windows import Window
from greymatch.matching.lagrange_weights import value_weights

NODES = (4, 6, 8, 10, 12, 14)  # through which a polynomial may go


def inputs_between(window: Window, stages: Tensor) -> Tensor | None:
    """(B, W - 1, n, U) at `stages` (B, W - 1, n) of each interval, or None."""
    if window.inputs is None:
        return None
    certain = torch.tensor(window.drive.signals.certain if window.drive else (), device=stages.device)
    if window.drive is None or not certain.any():
        return _smooth(window, window.inputs.double(), stages)
    # what jumps at the end of an interval has not jumped within it
    within = stages.minimum(torch.nextafter(window.times[:, 1:], window.times[:, :-1])[..., None])
    known = window.drive.at(within.flatten(1)).double().unflatten(1, stages.shape[1:])
    return known if certain.all() else known.where(certain, _smooth(window, window.inputs.double(), stages))


def _smooth(window: Window, inputs: Tensor, stages: Tensor) -> Tensor:
    """By polynomials, each through as many points around an interval as tell this input best."""
    nodes, found = _best_nodes(window.times, inputs), inputs.new_zeros(*stages.shape, inputs.shape[2])
    for count in nodes.unique().tolist():
        those = nodes == count
        rows = those.any(1).nonzero()[:, 0]
        value = _through(window.times[rows], inputs[rows], stages[rows], count)
        found[rows] = value.where(those[rows][:, None, None], found[rows])
    return found


def _through(times: Tensor, inputs: Tensor, stages: Tensor, nodes: int) -> Tensor:
    """By the polynomial through the `nodes` points around each interval."""
    intervals = torch.arange(stages.shape[1], device=stages.device)
    around = _around(intervals - (nodes - 2) // 2, nodes, times.shape[1])
    weights = value_weights(times[:, around][:, :, None] - stages[..., None])
    return torch.einsum("bimn,binu->bimu", weights, inputs[:, around])


def _best_nodes(times: Tensor, inputs: Tensor) -> Tensor:
    """How many (B, U) tell points within the window best from those around each: of smooth inputs many do, of rough or
    noisy ones few."""
    length = times.shape[1]
    able = [count for count in NODES if count < length]
    if not able:
        return torch.full_like(inputs[:, 0], min(length, NODES[0]), dtype=torch.long)
    wrong = torch.stack([_left_out(times, inputs, count).square().mean(1) for count in able])
    return torch.tensor(able, device=times.device)[wrong.nan_to_num(torch.inf).argmin(0)]


def _left_out(times: Tensor, inputs: Tensor, nodes: int) -> Tensor:
    """By how much (B, W - 2, U) the polynomial through other points errs at each but the first and the last."""
    own = torch.arange(1, times.shape[1] - 1, device=times.device)
    around = _around(own - nodes // 2, nodes + 1, times.shape[1])
    others = around[around != own[:, None]].unflatten(0, (len(own), nodes))
    weights = value_weights(times[:, others] - times[:, own, None])
    return torch.einsum("bin,binu->biu", weights, inputs[:, others]) - inputs[:, own]


def _around(first: Tensor, count: int, length: int) -> Tensor:
    """Places (n, count) in a row from `first` (n,) on, or as near as there are points."""
    return first.clamp(0, length - count)[:, None] + torch.arange(count, device=first.device)
