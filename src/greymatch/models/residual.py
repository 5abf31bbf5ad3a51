"""The learned field: what the known physics leaves out."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from greymatch.models.blocks import GridLayer, mlp, through, zeroed
from greymatch.models.composition import COMPOSITIONS
from greymatch.settings import ResidualSettings

FACTORS = 2  # of the products beside a net, unless data ask for more
FINER = "finer"  # the name of the buffer
MOST_MULTIPLIED = 24  # things seen at a point; of more there are too many products


class MlpField(nn.Module):
    """A point-wise net with one head per derivative order and a shared trunk; it starts as the zero function.

    Beside it stand the products of two or three things seen at a point, of which many laws consist, with coefficients
    that may differ with z: the net need not learn to multiply, and is left with the rest.
    """

    def __init__(
        self, state: int, extra: int, outputs: int, heads: int, axes: int, settings: ResidualSettings, latents: int = 0
    ) -> None:
        super().__init__()
        self.axes = axes
        self.trunk = mlp([state + extra] + [settings.width] * settings.depth)
        self.heads = nn.ModuleList(zeroed(nn.Linear(settings.width, outputs)) for _ in range(heads))
        self.products = None
        factors = FACTORS if settings.products is None else settings.products
        if factors and state + extra <= MOST_MULTIPLIED:
            of_them = settings.model_copy(update={"degree": factors})
            self.products = PolynomialField(state, extra, outputs, heads, axes, of_them, latents)

    @property
    def netless(self) -> bool:
        """Whether the net has nothing to say."""
        return _silent(self.heads)

    def forward(self, state: Tensor, extra: Tensor) -> Tensor:
        """`state` (..., C, *grid), `extra` (..., E, *grid or ones) to (..., heads*S, *grid)."""
        if self.products is not None and self.netless:
            return self.products(state, extra)
        seen = _columns(state, extra, self.axes)
        hidden = through(self.trunk, seen.flatten(1))
        out = _together([through([head], hidden) for head in self.heads], 0)
        if self.products is None or self.products.by_member:
            out = out.unflatten(1, seen.shape[1:]).movedim(0, -1 - self.axes)
            return out if self.products is None else out + self.products(state, extra)
        out = torch.addmm(out, self.products.told, self.products.terms(seen.flatten(1)))
        if out.requires_grad:
            out.register_hook(Tensor.contiguous)  # it comes back points first, which makes products slow
        return out.unflatten(1, seen.shape[1:]).movedim(0, -1 - self.axes)


class ConvField(nn.Module):
    """A net at every point of a grid, whose first layer sees the state of neighbours: they may be what is missing.

    One that sees none may have products beside it, as an `MlpField` has.
    """

    def __init__(
        self, state: int, extra: int, outputs: int, heads: int, axes: int, settings: ResidualSettings, latents: int = 0
    ) -> None:
        super().__init__()
        self.axes = axes
        sizes = [state + extra] + [settings.width] * settings.depth
        layers: list[nn.Module] = []
        for depth, (inner, outer) in enumerate(itertools.pairwise(sizes)):
            layers += [GridLayer(axes, inner, outer, 1 if depth else settings.kernel, settings.padding), nn.SiLU()]
        self.trunk = nn.Sequential(*layers)
        last = (axes, settings.width, outputs, 1, settings.padding)
        self.heads = nn.ModuleList(zeroed(GridLayer(*last)) for _ in range(heads))
        self.products = None
        if settings.products and not settings.convolves:
            of_them = settings.model_copy(update={"degree": settings.products})
            self.products = PolynomialField(state, extra, outputs, heads, axes, of_them, latents)

    @property
    def netless(self) -> bool:
        """Whether the net has nothing to say."""
        return _silent(self.heads)

    def forward(self, state: Tensor, extra: Tensor) -> Tensor:
        """`state` (..., C, *grid), `extra` (..., E, *grid or ones) to (..., heads*S, *grid)."""
        if self.products is not None and self.netless:
            return self.products(state, extra)
        channel = -1 - self.axes
        before = state.shape[:channel]
        field, beside = (part.expand(*before, *part.shape[channel:]).flatten(0, channel - 1) for part in (state, extra))
        first, *others = self.trunk
        hidden = first(field, beside)
        for layer in others:
            hidden = layer(hidden)
        out = _together([head(hidden) for head in self.heads], 1).unflatten(0, before)
        return out if self.products is None else out + self.products(state, extra)


class PolynomialField(nn.Module):
    """A polynomial of all that is seen at a point: little that a law of physics is not, and tame where nothing was.

    Its coefficients are linear in z, the first `latents` of what is seen beside the state: so may laws of one kind
    differ from trajectory to trajectory. What is the same on all of a grid enters its coefficients, once a member; only
    the rest is multiplied out point by point. `finer` is what single precision leaves out of coefficients that are
    known better: paths, which are followed in double, tell the difference.
    """

    fixed: Tensor
    monomial_of: Tensor
    plain: Tensor
    scales: Tensor
    finer: Tensor
    netless = True

    def __init__(
        self, state: int, extra: int, outputs: int, heads: int, axes: int, settings: ResidualSettings, latents: int = 0
    ) -> None:
        super().__init__()
        self.axes, self.latents, self.degree = axes, latents, settings.degree
        self.by_member = axes > 0 and not COMPOSITIONS[settings.composition].sees_physics
        one = state + extra  # the column of ones: a lower power has it as a factor
        terms = factors_of_terms(state, extra, settings.degree, latents)
        self.factors = terms
        moves = range(state) if self.by_member else (*range(state), *range(state + latents, one))
        moving = [tuple(moves.index(factor) for factor in term if factor in moves) for term in terms]
        monomials = sorted(set(moving), key=lambda factors: (len(factors), factors))
        climb = list(_climb(monomials))
        self.climbs = [f"climb_{degree}" for degree in range(len(climb))]
        for name, columns in zip(self.climbs, climb, strict=True):
            self.register_buffer(name, torch.tensor(columns), persistent=False)
        fixed = [[one if factor in moves else factor for factor in term] for term in terms]
        self.register_buffer("fixed", torch.tensor(fixed).T.contiguous() - state, persistent=False)
        plain = [term[:-1] for term in terms[:: 1 + latents]]
        self.register_buffer("plain", torch.tensor(plain).T.contiguous(), persistent=False)
        scales = [one, *range(state, state + latents)]
        self.register_buffer("scales", torch.tensor(scales), persistent=False)
        of = torch.tensor([monomials.index(factors) for factors in moving])
        self.register_buffer("monomial_of", nn.functional.one_hot(of).float(), persistent=False)
        self.coefficients = nn.Linear(len(terms), heads * outputs, bias=False)
        zeroed(self.coefficients)
        self.register_buffer(FINER, torch.zeros_like(self.coefficients.weight))

    @torch.no_grad()
    def tell(self, coefficients: Tensor) -> None:
        """Set them (heads*S, T), in double."""
        self.coefficients.weight.copy_(coefficients)
        self.finer.copy_(coefficients - self.coefficients.weight)

    @property
    def told(self) -> Tensor:
        return self.coefficients.weight + self.finer

    def forward(self, state: Tensor, extra: Tensor) -> Tensor:
        """`state` (..., C, *grid), `extra` (..., E, *grid or ones) to (..., heads*S, *grid)."""
        channel = -1 - self.axes
        if self.by_member:
            out = self._weights(extra.flatten(channel)) @ self._powers(state.flatten(channel + 1))
            return out.reshape(*out.shape[:-1], *state.shape[channel + 1 :])
        seen = _columns(state, extra, self.axes)
        out = self.told @ self.terms(seen.flatten(1))
        return out.unflatten(1, seen.shape[1:]).movedim(0, channel)

    def terms(self, seen: Tensor) -> Tensor:
        """What the coefficients are multiplied with (T, points), where `seen` are state and extra (C + E, points)."""
        seen = nn.functional.pad(seen, (0, 0, 0, 1), value=1.0)
        first, *others = self.plain
        product = seen.index_select(0, first)
        for other in others:
            product = product * seen.index_select(0, other)
        return (product[:, None] * seen.index_select(0, self.scales)).flatten(0, 1)

    @property
    def products(self) -> list[tuple[int, ...]]:
        """The columns that each of the `plain_terms` multiplies."""
        one = self.factors[-1][0]
        return [tuple(column for column in term[:-1] if column < one) for term in self.factors[:: 1 + self.latents]]

    @property
    def singles(self) -> list[int]:
        """Which of the `plain_terms` are one thing that is seen, or the constant 1."""
        return [place for place, columns in enumerate(self.products) if len(columns) <= 1]

    def plain_terms(self, state: Tensor, extra: Tensor) -> Tensor:
        """What the coefficients that do not go with z are multiplied with (..., T), at points without a grid; each
        stands before those that do, one for each z."""
        seen = torch.cat([state, extra, torch.ones_like(state[..., :1])], -1)
        return seen[..., torch.tensor(self.factors[:: 1 + self.latents])].prod(-1)

    def _powers(self, state: Tensor) -> Tensor:
        """Monomials (..., M, points) of a state (..., C, points), each by one product from one of lower degree."""
        first, *higher = self.climbs
        degrees = [torch.ones_like(state[..., :1, :]), state.index_select(-2, self.get_buffer(first)[1])]
        for name in higher:
            lower, factor = self.get_buffer(name)
            degrees.append(degrees[-1].index_select(-2, lower) * state.index_select(-2, factor))
        return torch.cat(degrees, -2)

    def _weights(self, fixed: Tensor) -> Tensor:
        """What each monomial is multiplied with (..., heads*S, M), for what is fixed on the grid (..., E)."""
        seen = nn.functional.pad(fixed, (0, 1), value=1.0)
        return (self.told * seen[..., None, self.fixed].prod(-2)) @ self.monomial_of


def factors_of_terms(state: int, extra: int, degree: int, latents: int) -> list[tuple[int, ...]]:
    """The columns that each term multiplies: `degree` of any that are not z, or one, and then one or a z."""
    one = state + extra
    seen = [column for column in range(one + 1) if not state <= column < state + latents]
    of = itertools.combinations_with_replacement(seen, degree)
    return [(*factors, scale) for factors in of for scale in (one, *range(state, state + latents))]


def _climb(monomials: list[tuple[int, ...]]) -> Iterator[tuple[list[int], list[int]]]:
    """For each degree from 1 on: which monomial of the degree below, and which variable, make each of its own."""
    by_degree = [list(group) for _, group in itertools.groupby(monomials, len)]
    for below, own in itertools.pairwise(by_degree):
        yield [below.index(factors[:-1]) for factors in own], [factors[-1] for factors in own]


def _silent(heads: nn.ModuleList) -> bool:
    """Whether a net is the zero function, as it began, and nobody learns from asking it: a law without it took over."""
    weights = [head.get_parameter(name) for head in heads for name in ("weight", "bias")]
    learns = torch.is_grad_enabled() and any(weight.requires_grad for weight in weights)
    return not learns and not any(bool(weight.any()) for weight in weights)


def _together(parts: list[Tensor], axis: int) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts, axis)


def _columns(state: Tensor, extra: Tensor, axes: int) -> Tensor:
    """Both as one (C + E, ..., *grid): points come last, one beside the other in memory."""
    state, extra = (part.movedim(-1 - axes, 0) for part in (state, extra))
    return torch.cat([state, extra.expand(len(extra), *state.shape[1:])])


FIELDS: dict[str, type[nn.Module]] = {"mlp": MlpField, "conv": ConvField, "polynomial": PolynomialField}
