"""Windows solved through: the paths that the learned field can have there, from latents and where they start.

Derivatives are a poor witness where there is noise, and never an exact one. What a window shows is also

    x_j = X(t_j; theta, z, a) + n_j,    n_j ~ Cauchy(0, noise^2),

with X the solution of the field from the phase a at the window's first point on: see `noisy` and `clean`.

A path is not solved from its start to its end, which takes as long as the window has points, but over all intervals at
once, from nodes near it; the slopes of these solutions tell where the path itself is, but for the square of its
distance from the nodes. Gauss-Newton moves latents, start and nodes, and who asks looks at what of that square is left.
A field on a grid has too many cells for such slopes, and few frames: its paths are solved from the first frame on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from greymatch.data.scaling import Scales
from greymatch.data.windows import Window
from greymatch.matching.path import widen
from greymatch.models.dynamics import Dynamics
from greymatch.models.flow import Flow
from greymatch.models.latents import Latents
from greymatch.models.steps import Steps
from greymatch.simulation.sixth import PARTS, stepped

FARTHEST = 100.0  # spreads of the data from its centre, where the field is held: a path must stay finite
STRAYED = 1.0  # spreads of the data from where a state was seen, where a node is no use: it goes back
TOGETHER = 2**16  # numbers of fields that are followed at once: fewer take as long, more leave a processor's caches
NUDGE = 1e-5  # in double: slopes are those of the path itself, as far as it is to be followed


@dataclass(frozen=True)
class Guess:
    """`latents` (B, K), and `nodes` (B, W, P, *grid) near the path, in units of the data; `moves`, if they are known
    well enough, are those of the `Path`."""

    latents: Tensor
    nodes: Tensor
    moves: Tensor | None = None

    def select(self, rows: Tensor) -> Guess:
        return Guess(self.latents[rows], self.nodes[rows], None if self.moves is None else self.moves[rows])

    def put(self, rows: Tensor, other: Guess) -> Guess:
        """These with those of `rows` (n,) replaced by others; how paths move is not kept."""
        return Guess(self.latents.index_put((rows,), other.latents), self.nodes.index_put((rows,), other.nodes))

    def where(self, better: Tensor, other: Guess) -> Guess:
        """This one of the windows (B,) of which it is better, the other of all others."""
        return Guess(
            torch.where(better[:, None], self.latents, other.latents),
            torch.where(widen(better, self.nodes), self.nodes, other.nodes),
        )


@dataclass(frozen=True)
class Path:
    """Paths of guesses, `nodes` (B, W, P, *grid), and how they move (B, K + P, W, P, *grid) with latents and starts
    (and with C numbers of the dynamics, if that is asked for), both in units of the data. `bend` (B,), the square of
    their distance from the nodes, is about what they are off by, in units of the noise. Over each interval a phase
    beside the path goes where `turns` (B, W - 1, P, P) take it; of fields there are none (B, 0)."""

    nodes: Tensor
    moves: Tensor
    bend: Tensor
    turns: Tensor

    def select(self, rows: Tensor) -> Path:
        return Path(self.nodes[rows], self.moves[rows], self.bend[rows], self.turns[rows])

    def put(self, rows: Tensor, other: Path) -> Path:
        """These with those of `rows` (n,) replaced by others."""
        return Path(
            nodes=self.nodes.index_put((rows,), other.nodes),
            moves=self.moves.index_put((rows,), other.moves),
            bend=self.bend.index_put((rows,), other.bend),
            turns=self.turns.index_put((rows,), other.turns),
        )

    def after(self, step: Tensor) -> Tensor:
        """Where nodes are after a step (B, K + P) of latents and starts."""
        return self.nodes + torch.einsum("bk,bk...->b...", step, self.moves)


@dataclass(frozen=True)
class Shooting:
    """Windows to be shot through, in `steps`.

    Phases seem to be `phases` (B, W, P, *grid), and start about the first of them, within `reach` (B, P); at it, if
    that is None. Misfits are in units of the `noise` (B, S). `center` and `unit` (P,) are the data's. All in double.
    Paths tell how they move with numbers of the dynamics too: `nudged` are these with one of them `NUDGE` larger each.
    """

    dynamics: Dynamics
    window: Window
    noise: Tensor
    phases: Tensor
    reach: Tensor | None
    steps: Steps
    center: Tensor
    unit: Tensor
    nudged: tuple[Dynamics, ...] = ()

    @staticmethod
    def of(
        dynamics: Dynamics,
        scales: Scales,
        window: Window,
        noise: Tensor,
        phases: Tensor,
        reach: Tensor | None,
        each: int,
        coarseness: int = 1,
    ) -> Shooting:
        """With `each` steps over a window's usual spacing, or so many times fewer, of dynamics in double."""
        center, unit = (widen(part, phases[0, 0]).double() for part in scales.phase(dynamics.physics.order))
        reach = None if reach is None else reach.double()
        steps = Steps.of(window, each, coarseness)
        return Shooting(dynamics, window, noise.double(), phases.double(), reach, steps, center, unit)

    @property
    def starts(self) -> int:
        """How many numbers of a start are to be found."""
        return 0 if self.reach is None else self.reach.shape[1]

    @property
    def roughly(self) -> Shooting:
        """The same in few steps: how paths move need not be known as well as where they go."""
        return replace(self, steps=self.steps.fewer())

    def select(self, rows: Tensor) -> Shooting:
        return replace(
            self,
            window=self.window.select(rows),
            noise=self.noise[rows],
            phases=self.phases[rows],
            reach=None if self.reach is None else self.reach[rows],
            steps=self.steps.select(rows),
        )

    def guess(self, latents: Tensor) -> Guess:
        """From latents (B, K), and phases as they seem to be; where one was not seen, as the field goes on."""
        latents, nodes = latents.double(), (self.phases - self.center) / self.unit
        if self.reach is None or bool(self.window.mask.all()):
            return Guess(latents, nodes)
        nodes, seen = nodes.clone(), self._seen
        for place in range(nodes.shape[1] - 1):
            here = slice(place, place + 1)
            onward = self._flown(nodes[None, :, here], latents[None, :, None], here)[0, :, 0]
            usable = ~seen[:, place + 1] & (onward.abs() < FARTHEST)
            nodes[:, place + 1] = torch.where(usable, onward, nodes[:, place + 1])
        return Guess(latents, nodes)

    def after(self, guess: Guess, path: Path, step: Tensor) -> Guess:
        """The guess that a step (B, K + P) of latents and starts leads to; nodes that strayed go back to what was
        seen, and others to where they were."""
        nodes, seen = path.after(step), (self.phases - self.center) / self.unit
        if self.reach is not None:
            strayed = self._seen & ((nodes - seen).abs() > STRAYED)
            strayed[:, 0] = strayed[:, :, self.noise.shape[1] :] = False  # starts and velocities are to be found
            nodes = torch.where(strayed, seen, nodes)
        nodes = torch.where(nodes.abs() < FARTHEST, nodes, guess.nodes)
        return replace(guess, latents=guess.latents + step[:, : guess.latents.shape[1]], nodes=nodes)

    def experienced(self, guess: Guess, path: Path) -> Guess:
        """The guess with the moves of its path, where those take most of the work: near it, they hardly change."""
        return guess if self.reach is not None else replace(guess, moves=path.moves)

    @property
    def _seen(self) -> Tensor:
        """Where phases (B, W, P) were seen; a velocity is, where its state is."""
        return self.window.mask.repeat(1, 1, self.phases.shape[2] // self.window.mask.shape[2])

    def unknown(self, guess: Guess) -> Tensor:
        """What is to be found (B, K + P): latents, and starts in units of the reach."""
        if self.reach is None:
            return guess.latents
        start = self.center + guess.nodes[:, 0] * self.unit
        return torch.cat([guess.latents, (start - self.phases[:, 0]) / self.reach], 1)

    def path(self, guess: Guess) -> Path:
        return self._followed(guess) if self.reach is None else self._joined(guess, self.reach / self.unit)

    def misfit(self, path: Path) -> tuple[Tensor, Tensor]:
        """What a path leaves unexplained (B, W * S * grid), in units of the noise, and its slopes (B, K + P, ...)."""
        states, seen = self.window.values.shape[2], self.window.mask
        unit, noise = self.unit[:states], widen(self.noise[:, None], self.window.values)
        wrong = (self.center[:states] + path.nodes[:, :, :states] * unit - self.window.values.double()) / noise
        slopes = path.moves[:, :, :, :states] * unit / noise[:, None]
        return wrong.masked_fill(~seen, 0.0).flatten(1), slopes.masked_fill(~seen[:, None], 0.0).flatten(2)

    def end(self, path: Path) -> tuple[Tensor, Tensor]:
        """The phase (B, P) at the window's end, and how it moves (B, P, K + P); of fields nothing (B, 0)."""
        if self.reach is None:
            return self.phases.new_zeros(len(self.phases), 0), self.phases.new_zeros(len(self.phases), 0, 0)
        return self.center + path.nodes[:, -1] * self.unit, (path.moves[:, :, -1] * self.unit).mT

    def _joined(self, guess: Guess, reach: Tensor) -> Path:
        """Of solutions over all intervals at once, each in its first order about the nodes."""
        phases, latents = guess.nodes.shape[2], guess.latents.shape[1]
        count = 1 + latents + phases
        moved = NUDGE * torch.eye(count, latents + phases).roll(1, 0).to(guess.nodes)
        starts = guess.nodes[:, :-1] + moved[:, None, None, latents:]
        rows = (guess.latents + moved[:, None, :latents])[:, :, None].expand(-1, -1, starts.shape[2], -1)
        rough, *moved_ends = self.roughly._flown(starts, rows, slice(None))
        ends = self._flown(starts[:1], rows[:1], slice(None))[0]
        slopes = (torch.stack(moved_ends) - rough) / NUDGE
        by_latents, by_phases = (part.movedim(0, -2) for part in slopes.split([latents, phases]))
        by_others = self._by_others(lambda one: one._flown(starts[:1], rows[:1], slice(None))[0], rough)
        direct = torch.cat([nn.functional.pad(by_latents, (0, 0, 0, phases)), by_others.movedim(1, -2)], -2)
        here, others = guess.nodes[:, 0], len(self.nudged)
        moves = nn.functional.pad(torch.diag_embed(reach), (0, 0, latents, others))
        nodes, all_moves = [here], [moves]
        for place in range(ends.shape[1]):
            away, turn = here - guess.nodes[:, place], by_phases[:, place]
            here = ends[:, place] + (away[:, None] @ turn)[:, 0]
            moves = moves @ turn + direct[:, place]
            nodes.append(here)
            all_moves.append(moves)
        path = torch.stack(nodes, 1)
        away = (path - guess.nodes)[:, :-1].abs().flatten(1).amax(1)
        finest = (self.unit[: self.noise.shape[1]] / self.noise).amax(1)
        return Path(path, torch.stack(all_moves, 2), away.square() * finest, by_phases)

    def _followed(self, guess: Guess) -> Path:
        """From the first frame on, interval by interval; with each of the latents moved, as many as are soon done."""
        path = self._from_the_first(guess.latents[None])[0]
        if guess.moves is not None:
            return _straight(path, guess.moves)
        rough, moves = self.roughly, NUDGE * torch.eye(guess.latents.shape[1]).to(guess.latents)
        here = path if rough.steps is self.steps else rough._from_the_first(guess.latents[None])[0]
        at_once = max(1, TOGETHER // max(1, self.phases[:, 0].numel()))
        moved = (guess.latents + moves[:, None]).split(at_once)
        slopes = torch.cat([(rough._from_the_first(some) - here) / NUDGE for some in moved])
        by_others = self._by_others(lambda one: one._from_the_first(guess.latents[None])[0], here)
        return _straight(path, torch.cat([slopes.transpose(0, 1), by_others], 1))

    def _by_others(self, solved: Callable[[Shooting], Tensor], here: Tensor) -> Tensor:
        """How what is `solved` (B, ...), and is `here` now, moves (B, C, ...) with numbers of the dynamics."""
        moves = [(solved(replace(self.roughly, dynamics=one)) - here) / NUDGE for one in self.nudged]
        return torch.stack(moves, 1) if moves else here[:, None][:, :0]

    def _from_the_first(self, latents: Tensor) -> Tensor:
        """Nodes (n, B, W, P, *grid) of paths with latents (n, B, K)."""
        first = (self.phases[:, 0] - self.center) / self.unit
        nodes, rows = [first.expand(len(latents), *first.shape)], latents[:, :, None]
        for place in range(self.steps.stages.shape[1]):
            nodes.append(self._flown(nodes[-1][:, :, None], rows, slice(place, place + 1))[:, :, 0])
        return torch.stack(nodes, 2)

    def _flown(self, starts: Tensor, latents: Tensor, intervals: slice) -> Tensor:
        """Where phases (n, B, I, P, *grid) are at the end of some intervals, with latents (n, B, I, K)."""
        free, many = len(self.dynamics.physics.free), len(starts)
        eps, z = latents.flatten(0, 2).tensor_split([free], 1)
        flow = Flow.of(self.dynamics, Latents(eps, z))
        stages = self.steps.stages[:, intervals]
        clock = stages.expand(many, *stages.shape).flatten(0, 2)
        inputs = None if self.steps.inputs is None else self.steps.inputs[:, intervals]
        driven = None if inputs is None else inputs.expand(many, *inputs.shape).flatten(0, 2)
        count, state = self.steps.count, starts.flatten(0, 2)
        step = ((clock[:, -1] - clock[:, 0]) / count)[:, None]

        def slope(stage: int, state: Tensor) -> Tensor:
            inputs = None if driven is None else driven[:, stage]
            return flow(clock[:, stage], state.clamp(-FARTHEST, FARTHEST), inputs)

        for first in range(0, PARTS * count, PARTS):
            state = stepped(lambda part, x, first=first: slope(first + part, x), step, state)
        return state.reshape(starts.shape)


def _straight(nodes: Tensor, moves: Tensor) -> Path:
    """A path that was solved from its start, so that it is not off by anything."""
    return Path(nodes, moves, nodes.new_zeros(len(nodes)), nodes.new_zeros(len(nodes), 0))
