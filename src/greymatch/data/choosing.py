"""Which variables are states, and which are inputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import xarray as xr

from greymatch.errors import GreymatchError, did_you_mean

_AXES = {name: f" Say which of them it is: {name}=NAME, or --{name} NAME." for name in ("time", "trajectory")}


def choose(
    dataset: xr.Dataset, states: Sequence[str] | None, inputs: Sequence[str], axis: str
) -> tuple[list[str], list[str]]:
    """The states and inputs asked for; by default all variables along `axis`, inputs where marked so."""
    marked = [name for name in _in_order(dataset) if dataset[name].attrs.get("role") == "input"]
    driving = marked if states is None and not inputs else list(inputs)
    chosen = _along(dataset, axis, {*marked, *driving}) if states is None else list(states)
    check_known("states", chosen, dataset.data_vars)
    check_known("inputs", driving, dataset.data_vars)
    if not chosen:
        raise GreymatchError(
            f"no state found: of {[str(name) for name in dataset.data_vars]}, none is a number along "
            f"{axis!r} that is not an input. Name them in `states`, and the time axis in `time`."
        )
    if len({*chosen, *driving}) < len(chosen) + len(driving):
        raise GreymatchError(f"a name must stand once in `states` and `inputs`; got {chosen} and {driving}.")
    return chosen, driving


def _in_order(dataset: xr.Dataset) -> list[str]:
    """The variables as `to_dataset` numbered them: a zarr store gives them back by the alphabet."""
    names = [str(name) for name in dataset.data_vars]
    return sorted(names, key=lambda name: dataset[name].attrs.get("order", len(names)))


def _along(dataset: xr.Dataset, axis: str, but: set[str]) -> list[str]:
    """The numbers that vary along `axis`, but some."""
    found = [name for name in _in_order(dataset) if axis in dataset[name].dims]
    return [name for name in found if dataset[name].dtype.kind in "fiu" and name not in but]


def check_known(argument: str, names: Iterable[str], known: Iterable[object]) -> None:
    have = [str(name) for name in known]
    for name in names:
        if name not in have:
            hint = did_you_mean(name, have) or _AXES.get(argument, "")
            raise GreymatchError(f"`{argument}` asks for {name!r}; the data have {have}.{hint}")
