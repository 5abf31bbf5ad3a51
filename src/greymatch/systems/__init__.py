"""The benchmark systems, by name."""

from __future__ import annotations

from greymatch.systems._pendulum import pendulum
from greymatch.systems.system import Split, System

SYSTEMS: dict[str, System] = {system.name: system for system in (pendulum,)}

__all__ = ["SYSTEMS", "Split", "System", "pendulum"]
