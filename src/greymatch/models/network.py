"""All that is learned: the encoder and the field, with the scales they stand on."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from greymatch.data.scaling import Scales
from greymatch.data.trajectories import Trajectories
from greymatch.data.windows import Window, last_window, longest_windows, observed_lengths
from greymatch.methods import method_named
from greymatch.models.clean import traced
from greymatch.models.cleansing import CleansingEncoder
from greymatch.models.dynamics import Dynamics
from greymatch.models.encoder import Encoder, Shapes
from greymatch.models.evidence import FEWEST_POINTS, Evidence
from greymatch.models.features import Features, window_features
from greymatch.models.field_paths import followed
from greymatch.models.hints import count_hints, hints
from greymatch.models.intervals import shown_between
from greymatch.models.laplace import THOROUGH, TO_THE_END, Laplace, Search, laplace
from greymatch.models.latents import Encoded, Latents, Members, mirrored
from greymatch.models.memory import Memory
from greymatch.models.next_point import NextPoint
from greymatch.models.noisy import shot
from greymatch.models.probe import Probe, probe_points
from greymatch.models.sight import Asked, Sight
from greymatch.models.steps import widest_gaps
from greymatch.physics.physics import Physics
from greymatch.settings import Settings
from greymatch.simulation.start import Start

NUMBERS_AT_ONCE = 2**26  # of the features, when many draws are encoded
PATHS_AT_ONCE, NOISY_FIELDS_AT_ONCE = 2**19, 2**17  # numbers of observations, when paths go through windows
SLOPES_AT_ONCE = 2**22  # of derivatives by latents, when windows are asked themselves
SLACK = 0.5  # of the solver's tolerance: what solutions of smooth fields err by
NOTHING = 1e-5  # precision, beside the prior's, that is rounding
FOR_A_MEAN = 24  # draws
LEAST_WINDOW, SHORTER = 5, 5  # points that are asked at least, and of how many times more
MOST_POINTS = 10_000  # of one recording that is asked as a whole


class Network(nn.Module):
    """Encoder q(z | x) q(theta | x, z) and field f(x, theta) o r(x | z), built from settings and scales.

    `noise` (S,) is the relative error of the highest derivative that matching left unexplained; `widening` the
    factor by which validation forecasts ask it and the posterior's standard deviations to grow. `doubt` (L,) is
    that of the parameters by themselves, which a forecast does not see where the residual makes up for them, and
    `blind` (L,) the standard deviation of what no window sees of their error (see `beginning` and `certainty`).
    `kicked` is 1 if members of a forecast carry that noise, `refined` if each window is asked itself (see `laplace`)
    and not the encoder alone; else 0. Validation data decide both. `usual` is how badly the field explains windows
    that it knows at worst (see `Laplace.misfit`), 0 if nothing tells; a window beyond that is unlike all of them.
    `observed` (S,) is the standard deviation of the noise on the observations that is assumed, zeros for none.
    A method that names the next point has neither encoder nor field, but `next_point`, and recalls the history itself.
    """

    widening: Tensor
    doubt: Tensor
    blind: Tensor
    noise: Tensor
    kicked: Tensor
    refined: Tensor
    usual: Tensor
    observed: Tensor
    encoder: Encoder | CleansingEncoder
    dynamics: Dynamics
    next_point: NextPoint

    def __init__(self, physics: Physics, settings: Settings, scales: Scales, shapes: Shapes) -> None:
        super().__init__()
        self.physics = method_named(settings.method).known(physics)
        self.settings = settings
        self.shapes = shapes
        for name, value in scales.tensors().items():
            self.register_buffer(f"scale_{name}", value.clone(), persistent=False)
        self.register_buffer("widening", torch.ones(()))
        self.register_buffer("doubt", torch.ones(shapes.free))
        self.register_buffer("blind", torch.zeros(shapes.free))
        self.register_buffer("noise", torch.zeros(len(physics.states)))
        self.register_buffer("kicked", torch.ones(()))
        self.register_buffer("refined", torch.zeros(()))
        self.register_buffer("usual", torch.zeros(()))
        self.register_buffer("observed", torch.zeros(len(physics.states)))
        if self.recalls:
            self.next_point = NextPoint(self.physics, scales, settings.memory, settings.residual)
            return
        more = count_hints(shapes.free, settings.encoder.latents) if self.takes_hints else 0
        self.encoder = _encoder(replace(shapes, summary=shapes.summary + more), len(physics.states), settings)
        self.dynamics = Dynamics(self.physics, scales, settings.encoder.latents, settings.residual, shapes.grid)

    @staticmethod
    def fitting(physics: Physics, settings: Settings, scales: Scales, window: Window) -> Network:
        """A network whose shapes fit this window's features."""
        known = method_named(settings.method).known(physics)
        seen = _features(known, settings, scales, window)
        shapes = Shapes(
            window=settings.window,
            channels=seen.sequence.shape[2],
            grid=tuple(seen.sequence.shape[3:]),
            summary=seen.summary.shape[1],
            free=len(known.free),
        )
        return Network(physics, settings, scales, shapes)

    @property
    def recalls(self) -> bool:
        """Whether the history itself is what forecasts are made from, and nothing is encoded."""
        return method_named(self.settings.method).objective == "next-point"

    @property
    def scales(self) -> Scales:
        return Scales(**{name[6:]: value for name, value in self.named_buffers() if name.startswith("scale_")})

    def features(self, window: Window) -> Features:
        """What the encoder sees of windows of any one length up to the settings' window."""
        seen = _features(self.physics, self.settings, self.scales, window)
        return seen if self.recalls else seen.padded(self.settings.window)

    def look(self, window: Window, refine: bool | None = None) -> Sight:
        """What can be known of windows of any one length up to the settings' window.

        `refine` says whether each is asked itself; None is what validation data decided.
        """
        features = self.features(window)
        if not self.asks(refine):
            return Sight(features, None)
        found = self._asked(window, features)
        return Sight(features, found.own, found.near, found.start)

    def observe(self, history: Trajectories, refine: bool | None = None) -> Sight:
        """The same of the end of each history, see `fitting_windows`."""
        fitting = self.fitting_windows(history, refine)
        parts = [self.look(last_window(history.select(rows), length), refine) for length, rows in fitting]
        back = torch.cat([rows for _, rows in fitting]).argsort()
        features = Features(*(torch.cat(part)[back] for part in zip(*(one.features for one in parts), strict=True)))
        own, starts = [one.own for one in parts if one.own], [one.start for one in parts if one.start]
        return Sight(
            features,
            Laplace.joined(own).select(back) if own else None,
            start=Start.joined(starts).select(back) if starts else None,
        )

    def asks(self, refine: bool | None) -> bool:
        """Whether windows are asked themselves; None is what validation data decided."""
        return self.prefers_asking and bool(self.refined) if refine is None else refine

    def fitting_windows(self, history: Trajectories, refine: bool | None) -> list[tuple[int, Tensor]]:
        """Lengths of the windows by which histories are read, and the rows of those. An encoder knows some lengths;
        a window that is asked itself may have any up to the longest of them, so that no point is left out."""
        lengths = self.settings.lengths
        if not self.asks(refine):
            return longest_windows(history, lengths)
        least = min(lengths[-1], max(LEAST_WINDOW, lengths[0] // SHORTER))
        own = observed_lengths(history).clamp(least, lengths[0]).unique(sorted=True).tolist()
        return longest_windows(history, [*reversed(own), least])

    @property
    def askable(self) -> bool:
        """Whether a window can be asked itself: it must show derivatives, and there must be something to ask."""
        unknown = self.shapes.free + self.settings.encoder.latents
        return not self.recalls and unknown > 0 and self.settings.window >= FEWEST_POINTS

    @property
    def prefers_asking(self) -> bool:
        """Whether windows are asked unless the encoder alone forecasts better."""
        matched = method_named(self.settings.method).objective == "matching"
        return self.askable and matched and self.settings.encoder.refine

    @property
    def draws_differ(self) -> bool:
        """Whether members of an ensemble differ in anything: latents, the error that they carry, or their start."""
        variational = method_named(self.settings.method).variational
        return variational or bool(self.kicked) or bool(self.observed.any())

    @property
    def credits(self) -> bool:
        """Whether parameters can get back what the residual took: it must be something added to the physics."""
        if not self.shapes.free or not self.askable or self.settings.residual.composition != "additive":
            return False
        return bool(self.dynamics.open.any())

    @property
    def refers(self) -> bool:
        """Whether what noisy windows show is told from what is known of their latents: better twice."""
        return bool(self.physics.grid) and self.physics.order == 1

    def middle(self, count: int) -> Latents:
        """The prior's, for so many windows."""
        eps = torch.zeros(count, self.shapes.free, device=self.noise.device)
        return Latents(eps, eps.new_zeros(len(eps), self.settings.encoder.latents))

    @property
    def complete(self) -> bool:
        """Whether the physics is all there is: no equation is open, and windows can be asked for its parameters."""
        return self.askable and not bool(self.dynamics.open.any())

    def _asked(self, window: Window, features: Features) -> Asked:
        """The posterior of each window by itself, by what it shows of the field and, if possible, by a path through it;
        and how near that comes."""
        return self.path(window, self.matched(window, features), features.amplitude)

    def path(self, window: Window, told: Laplace, amplitude: Tensor) -> Asked:
        """The posterior of windows by paths through them, begun at what was `told`, some windows at a time.

        Where a forecast starts belongs to it, but of a field, where every pixel would be a number of it.
        """
        nowhere = torch.zeros(len(window.times), dtype=torch.bool, device=window.times.device)
        if window.smooth is None:
            law, near = self.trace(window, told, amplitude)
            through = near.isfinite()  # what a path goes through is explained, however coarse its points are
            usual = torch.where(through & (self.usual > 0), law.misfit.clamp(max=self.usual), law.misfit)
            return Asked(replace(law, misfit=usual), through, near)
        if window.length < FEWEST_POINTS or not len(nowhere):
            start = Start.of(window, self.physics.order)
            return Asked(told, nowhere, start=start) if self.physics.grid else Asked(told.starting(start), nowhere)
        rows, back = self._few_at_once(window, told)
        way = followed if self.physics.grid else shot
        parts = [way(self.dynamics, self.scales, window.select(i), self.observed, told.select(i)) for i in rows]
        through = torch.cat([part.sound for part in parts])[back]
        starts = [part.start for part in parts if part.start]
        start = Start.joined(starts).select(back) if starts else None
        return Asked(Laplace.joined([part.law for part in parts]).select(back), through, start=start)

    def matched(self, window: Window, features: Features) -> Laplace:
        """The posterior of each window by what it shows of the field alone: no path is sought."""
        law = Laplace.of(self.encoder(self.informed(features), None, sample=False))
        if window.length < FEWEST_POINTS:
            return law
        unit = self.dynamics.scales_top * features.amplitude
        law = self.ask(self.evidence(window), law, unit)
        if self.refers and window.smooth is not None:
            law = self.ask(self.evidence(window, around=law.latents()), law, unit)
        return law

    def misfit(self, window: Window) -> Tensor:
        """How badly the field explains each window (B,), see `Laplace`: without noise, no path tells more of it."""
        features = self.features(window)
        law = self.matched(window, features) if window.smooth is None else self._asked(window, features).own
        return law.misfit

    def trace(self, window: Window, told: Laplace, amplitude: Tensor, coarseness: int = 1) -> tuple[Laplace, Tensor]:
        """The posterior of windows without noise by paths through them, some windows at a time; and how near these
        come (B,), inf where there is none. See `traced`."""
        rows, back = self._few_at_once(window, told)
        parts = [
            traced(self.dynamics, self.scales, window.select(i), amplitude[i], told.select(i), coarseness) for i in rows
        ]
        return Laplace.joined([law for law, _ in parts]).select(back), torch.cat([left for _, left in parts])[back]

    def _few_at_once(self, window: Window, told: Laplace) -> tuple[list[Tensor], Tensor]:
        """Rows of windows whose paths, as they are and (but of fields) moved by each number to be found, are solved at
        once: alike in their gaps, so that none is solved otherwise than alone. And how to put them back in order."""
        moved = 1 if self.physics.grid else 1 + told.mean.shape[1] + len(self.physics.phase)
        most = NOISY_FIELDS_AT_ONCE if self.physics.grid and window.smooth else PATHS_AT_ONCE
        count = max(1, most // (window.values.shape[1:].numel() * self.physics.order * moved))
        gaps = widest_gaps(window.times)
        kinds = gaps.unique() if len(gaps) else gaps.new_zeros(1)  # of no windows, there are none of one kind
        rows = [part for gap in kinds for part in (gaps == gap).nonzero()[:, 0].split(count)]
        return rows, torch.cat(rows).argsort()

    def evidence(
        self,
        window: Window,
        most: int = MOST_POINTS,
        stencil: int | None = None,
        around: Latents | None = None,
    ) -> Evidence:
        """What up to `most` points of windows of any one length show of the field, by the usual stencil or another;
        noisy fields between their frames, `around` what is known of the latents."""
        if self.refers and window.smooth is not None:
            return shown_between(
                self.dynamics, window, self.observed, around or self.middle(len(window.times))
            ).thinned(most)
        return Evidence.of(window, stencil or self.settings.encoder.stencil, self.physics.order).thinned(most)

    def ask(self, evidence: Evidence, told: Laplace, unit: Tensor, search: Search | None = None) -> Laplace:
        """The posterior of windows, where `told` is known of them; `unit` (B, S) is their speed."""
        search = search or (TO_THE_END if self.complete else THOROUGH)
        at_once = max(1, SLOPES_AT_ONCE // (evidence.top.shape[1:].numel() * told.mean.shape[1]))
        parts = []
        for rows in torch.arange(len(unit), device=unit.device).split(at_once):
            some = evidence.select(rows)
            parts.append(laplace(self.dynamics, some, told.select(rows), unit[rows], self.noise, search))
        return Laplace.joined(parts)

    @property
    def takes_hints(self) -> bool:
        """Whether the residual can be asked at single points, and so be solved for z."""
        return not self.recalls and self.settings.residual.pointwise and self.settings.encoder.probes > 0

    def informed(self, features: Features) -> Features:
        """The features with what the residual, as it is now, makes of the window."""
        if not self.takes_hints:
            return features
        probe = Probe.unpacked(features.probe, self.physics)
        latents = self.settings.encoder.latents
        facts = hints(self.dynamics, probe, features.start, features.amplitude, latents)
        return features._replace(summary=torch.cat([features.summary, facts], -1))

    def encode(self, features: Features, generator: torch.Generator | None, sample: bool = True) -> Encoded:
        """The posterior as training sees it."""
        return self.encoder(self.informed(features), generator, sample)

    def central(self, sight: Sight) -> Members:
        """One member for each window: the posterior's means, and no error of the field."""
        features = sight.features
        still = torch.zeros_like(features.amplitude)
        if self.recalls:
            return Members(Latents(features.summary, features.summary), still, Memory.unpacked(features))
        if sight.own:
            return Members(sight.own.latents().single(), still)
        return Members(self.encoder(self.informed(features), None, sample=False).latents, still)

    def draw(self, sight: Sight, draws: int, generator: torch.Generator | None) -> Members:
        """Members (draws * B), draw after draw, from the calibrated posterior; a single draw is the central one."""
        if draws == 1:
            return self.central(sight)
        features = sight.features
        latents = self._latents(sight, draws, generator, self.widening).single()
        unit = self.next_point.scales_top if self.recalls else self.dynamics.scales_top
        size = self.widening * self.kicked * self.noise * unit * features.amplitude
        kick = (size * mirrored(draws, size, generator)).flatten(0, 1)
        if self.recalls:
            return Members(latents, kick, Memory.unpacked(features))
        slack = self.widening * SLACK * self.scales.spread * mirrored(draws, size, generator)
        return Members(latents, kick, slack=slack.flatten(0, 1))

    def draw_parameters(self, sight: Sight, draws: int, generator: torch.Generator | None) -> Tensor:
        """Latent coordinates (draws, B, L) of the parameters from their own posterior, in double; a single draw is its
        mean.

        What data told, as a law of variance v, is that of m + e beside the prior: its precision is divided by the
        doubt's square, and to its error comes b, which no window sees. Both leave the prior as it is.
        """
        if draws == 1:
            return self.draw_parameters(sight, FOR_A_MEAN, generator).mean(0, keepdim=True)
        eps = self.claimed_parameters(sight, draws, generator).double()
        told, middle = self._told(sight, eps), eps.mean(0)
        moved = sight.own.released(self.doubt) * (told > 0) if sight.own else 0.0
        doubted = 1 / (1 + told / self.doubt.double().square())
        blind = self.blind.double().square() * (1 - doubted)
        spread = (doubted * (1 + told)).sqrt() * (eps - middle) + blind.sqrt() * mirrored(draws, eps[0], generator)
        return (middle + moved) / (1 + blind) + spread / (1 + blind).sqrt()

    def _told(self, sight: Sight, eps: Tensor) -> Tensor:
        """The precision (B, L) that data add to the prior's, of draws `eps` unless it is known."""
        variance = sight.own.spread.double().square() if sight.own else eps.var(0)
        told = 1 / variance.clamp(1e-300, 1.0) - 1
        return told.where(told > NOTHING, 0.0)

    def claimed_parameters(self, sight: Sight, draws: int, generator: torch.Generator | None) -> Tensor:
        """The same before calibration."""
        eps = self._latents(sight, draws, generator, widening=1.0).eps
        return eps.reshape(draws, len(sight.features.summary), self.shapes.free)

    def _latents(
        self, sight: Sight, draws: int, generator: torch.Generator | None, widening: Tensor | float
    ) -> Latents:
        """Draws from the widened posterior, in chunks; a deterministic method has only its means."""
        if not method_named(self.settings.method).variational:
            return self.central(sight).latents.repeated(draws)
        if sight.own:
            return sight.own.sample(draws, generator, widening)
        parts = []
        features = self.informed(sight.features)
        at_once = max(2, NUMBERS_AT_ONCE // features.sequence.numel() // 2 * 2)  # even, for pairs
        for first in range(0, draws, at_once):
            copies = min(at_once, draws - first)
            parts.append(self.encoder(features, generator, widening=widening, copies=copies).latents)
        return Latents(torch.cat([part.eps for part in parts]), torch.cat([part.z for part in parts]))


def _encoder(shapes: Shapes, states: int, settings: Settings) -> Encoder | CleansingEncoder:
    if method_named(settings.method).cleanses:
        return CleansingEncoder(shapes, states, settings.encoder)
    return Encoder(shapes, settings.encoder)


def _features(physics: Physics, settings: Settings, scales: Scales, window: Window) -> Features:
    if method_named(settings.method).objective == "next-point":
        return Memory.of(window, settings.memory.points, scales).features()
    probes = min(settings.encoder.probes, probe_points(settings.lengths[-1], bool(physics.grid)))
    return window_features(physics, window, scales, settings.encoder.stencil, settings.matching.amplitude_floor, probes)
