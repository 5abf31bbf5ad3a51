"""The benchmark systems, by name."""

from __future__ import annotations

from greymatch.systems._lorenz import lorenz
from greymatch.systems._pendulum import pendulum
from greymatch.systems._reaction_diffusion import reaction_diffusion, reaction_diffusion_u
from greymatch.systems._rlc import rlc, rlc_code
from greymatch.systems.system import Split, System

SYSTEMS: dict[str, System] = {
    system.name: system for system in (pendulum, rlc, rlc_code, reaction_diffusion, reaction_diffusion_u, lorenz)
}

__all__ = [
    "SYSTEMS",
    "Split",
    "System",
    "lorenz",
    "pendulum",
    "reaction_diffusion",
    "reaction_diffusion_u",
    "rlc",
    "rlc_code",
]
