"""How a residual begins: its products as a regression on all trajectories finds them (see `factors`).

A net that begins as nothing must find out together what z stands for and what to make of it, which takes long and may
end where parameters make up for one another. The regression takes a few seconds. All products at once say what the law
is, but not what of it is the physics': products and parameters may say the same. Few terms do not, so where few explain
as much, the regression is made again with those alone. A law that is no such sum is left to the net: products that only
come near it would have to be unlearned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from greymatch.data.trajectories import Trajectories
from greymatch.methods import method_named
from greymatch.models.credit import few_terms
from greymatch.models.latents import Latents
from greymatch.models.network import Network
from greymatch.models.residual import FACTORS, ConvField, MlpField, PolynomialField
from greymatch.training.factors import Factors
from greymatch.training.shown import Shown, Terms, products_at
from greymatch.training.validation import Validator

ROUNDS, SWEEPS = 4, 20
LONGEST_STEP, FARTHEST = 1.0, 4.0  # of a parameter in a round, and from its prior's middle
MOST_COEFFICIENTS = 300
MORE_FACTORS, FAR_MORE = 3, 4.0  # products of three, or more than few terms, must leave so many times less unexplained
MORE = 1.5  # and so many times less, another z
WELL = 1e-3  # the error of a typical forecast, relative to the variance and beside noise, that leaves little to learn
EXACT = 1e-6  # relative error of a term that is written in products


@dataclass(frozen=True)
class Beginning:
    """A network, and the relative error (S,) of its derivatives if it begins as more than nothing.

    A field that is to be `held` forecasts well: an encoder that knows little yet would undo that.
    """

    network: Network
    noise: Tensor | None = None
    held: bool = False


def begun(
    build: Callable[[int | None], Network], products: int | None, data: Trajectories, held_out: Trajectories
) -> Beginning:
    """The network that `build` makes of a number of factors, its products set if they forecast well; `products` is what
    was asked for."""
    tried = [build(number) for number in _numbers(build(products), products)]
    shown = Shown.of(tried[0], data) if _products(tried[0]) is not None and tried[0].prefers_asking else None
    laws = [] if shown is None else [law for one in tried if (law := _regressed(one, shown)) is not None]
    if shown is None or not laws:
        return Beginning(build(products))
    simplest = next(law for law in laws if law.left <= FAR_MORE * laws[-1].left)
    _set(simplest.network, simplest.weights)
    law = _in_few_terms(simplest, shown) or simplest
    network, noise = _set(law.network, law.weights), law.factors.noise.sqrt().float()
    network.noise.copy_(noise)
    floor = float((network.observed / network.scales.spread).square().mean())
    judge = Validator.of(held_out, network.settings.window)
    well = judge.error(network, refine=True).typical < WELL + 2 * floor
    return Beginning(network, noise, held=True) if well else Beginning(build(products))


def _numbers(network: Network, asked: int | None) -> list[int | None]:
    """How many factors products are tried with, few before many."""
    field = network.dynamics.field if not network.recalls else None
    free = isinstance(field, MlpField | ConvField) and asked is None and network.settings.residual.pointwise
    return [FACTORS, MORE_FACTORS] if free else [asked]


@dataclass(frozen=True)
class Found:
    """A regression of a network's products, or of some terms that are `written` (K, T) in those, and the parameters
    `at` (N, L) which it has led to."""

    network: Network
    factors: Factors
    at: Tensor
    written: Tensor | None = None

    @property
    def left(self) -> float:
        """What is unexplained in equations that are open, as a standard deviation."""
        return float(self.factors.noise[self.network.dynamics.open > 0].log().mean().exp().sqrt())

    @property
    def weights(self) -> Tensor:
        """Of products (S, T, 1 + Z)."""
        found = self.factors.weights
        return found if self.written is None else torch.einsum("skz,kt->stz", found, self.written)

    def latents(self) -> Latents:
        z = self.factors.mean[:, : self.factors.latents]
        missing = self.network.settings.encoder.latents - self.factors.latents
        return Latents(self.at.float(), nn.functional.pad(z, (0, missing)).float())


def _products(network: Network) -> PolynomialField | None:
    """The products of a network, where a regression can find them: they are added to the physics."""
    if network.recalls or network.dynamics.learns_velocity:
        return None
    field, settings = network.dynamics.field, network.settings
    part = field if isinstance(field, PolynomialField) else getattr(field, "products", None)
    matched = method_named(settings.method).objective == "matching"
    plain = settings.residual.composition == "additive" and not settings.residual.sees_theta
    if part is None or not (matched and plain and bool(network.dynamics.open.any())):
        return None
    return part if part.coefficients.in_features <= MOST_COEFFICIENTS else None


def _part(network: Network) -> PolynomialField:
    part = _products(network)
    assert part is not None, "asked of a network with products"
    return part


def _set(network: Network, weights: Tensor) -> Network:
    """With `weights` (S, T, 1 + Z) of the products; z's beyond those have none."""
    missing = 1 + network.settings.encoder.latents - weights.shape[2]
    with torch.no_grad():
        _part(network).coefficients.weight.copy_(nn.functional.pad(weights, (0, missing)).flatten(1))
    return network


@torch.no_grad()
def _regressed(network: Network, shown: Shown) -> Found | None:
    """With as few factors as leave hardly more unexplained than many; None if all fail."""
    if _products(network) is None:
        return None
    found = [_with(factors, network, shown) for factors in range(_part(network).latents + 1)]
    found = [one for one in found if one.factors.finite]
    least = min((one.left for one in found), default=0.0)
    return next((one for one in found if one.left <= MORE * least), None)


def _with(factors: int, network: Network, shown: Shown, terms: Terms | None = None) -> Found:
    at = torch.zeros(shown.count, network.shapes.free, dtype=torch.float64)
    points = shown.points(network, _part(network), at, terms)
    found = Factors.first(points, factors, torch.Generator().manual_seed(network.settings.training.seed))
    for _ in range(ROUNDS):
        for _ in range(SWEEPS):
            found = found.better(points)
        at = (at + found.told(points).steps().clamp(-LONGEST_STEP, LONGEST_STEP)).clamp(-FARTHEST, FARTHEST)
        points = shown.points(network, _part(network), at, terms)
    return Found(network, found.told(points), at)


@torch.no_grad()
def _in_few_terms(found: Found, shown: Shown) -> Found | None:
    """The same law in few terms, or none at all; None if those leave far more unexplained."""
    network, part, (rows, evidence) = found.network, _part(found.network), shown.largest()
    latents = found.latents().select(torch.arange(shown.count)[rows])
    chosen = few_terms(network.dynamics, evidence, latents, found.factors.noise.sqrt(), part.degree)
    if chosen is None:
        return None
    columns = sorted({term for _, term in chosen}) or [0]
    allowed = torch.zeros(len(network.physics.states), len(columns))
    for equation, term in chosen:
        allowed[equation, columns.index(term)] = 1.0
    terms = Terms(columns, part.degree, allowed)
    written = _written(terms, network, shown)
    few = None if written is None else _with(min(len(chosen), part.latents), network, shown, terms)
    if few is None or not (few.factors.finite and few.left <= FAR_MORE * found.left):
        return None
    return replace(few, written=written)


def _written(terms: Terms, network: Network, shown: Shown) -> Tensor | None:
    """Terms as sums of products (K, T); None if they are more than such sums."""
    _, evidence = shown.largest()
    eps = torch.zeros(len(evidence.times), network.shapes.free)
    products = products_at(network.dynamics, _part(network), evidence, eps).flatten(0, 1).double()
    values = terms.at(network.dynamics, evidence).flatten(0, 1).double()
    sums = torch.linalg.lstsq(products, values, driver="gelsd").solution
    wrong = (products @ sums - values).square().mean(0) / values.square().mean(0)
    return sums.mT if bool((wrong < EXACT**2).all()) else None
