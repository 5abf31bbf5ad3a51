"""A law as a regression finds it: products of what is seen, with coefficients of each trajectory's own (see `factors`).

All products at once say what the law is, but not what of it is the physics': products and parameters may say the same.
Few terms do not, so where few explain as much, the regression is made again with those alone.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from greymatch.methods import method_named
from greymatch.models.credit import few_terms
from greymatch.models.dynamics import Dynamics
from greymatch.models.latents import Latents
from greymatch.models.network import Network
from greymatch.models.residual import PolynomialField
from greymatch.training.factors import Factors, Points
from greymatch.training.growing import grown
from greymatch.training.shown import Shown, Terms, products_at

ROUNDS, SWEEPS = 4, 20
LONGEST_STEP, FARTHEST = 1.0, 4.0  # of a parameter in a round, and from its prior's middle
MOST_COEFFICIENTS = 300
FAR_MORE = 4.0  # more than few terms must leave so many times less unexplained
MORE = 1.5  # and so many times less, another z
WORTH = (3.0, 1.3, 1.1)  # by which a term divides the squares that are left; noise lets none do much
NORMAL = 1.4826  # standard deviation of a normal law in units of its median absolute value
EXACT = 1e-6  # relative error of a term that is written in products


@dataclass(frozen=True)
class Law:
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
    def terms(self) -> int:
        """How many it has in all equations."""
        return int((self.factors.weights.abs().sum(-1) > 0).sum())

    @property
    def weights(self) -> Tensor:
        """Of products (S, T, 1 + Z)."""
        found = self.factors.weights
        return found if self.written is None else torch.einsum("skz,kt->stz", found, self.written)

    def told(self) -> Network:
        """Its network, with the products as they were found."""
        part_of(self.network).tell(self.coefficients)
        self.network.noise.copy_(self.factors.noise.sqrt())
        return self.network

    @property
    def coefficients(self) -> Tensor:
        """Those of its network's products (S, T * (1 + Z)); z's beyond those that were found have none."""
        missing = 1 + self.network.settings.encoder.latents - self.weights.shape[2]
        return nn.functional.pad(self.weights, (0, missing)).flatten(1)

    @torch.no_grad()
    def beyond_doubt(self, shown: Shown) -> float:
        """How far derivatives typically are from it in the worst equation, in units of the doubt about them."""
        points = shown.points(self.network, part_of(self.network), self.at)
        wrong = (points.rest - self._said(points)).abs() / (points.amplitude * points.doubt.sqrt().clamp_min(1e-12))
        opened = self.network.dynamics.open > 0
        return NORMAL * float(wrong[points.seen[..., 0] > 0][:, opened].median(0).values.max())

    def _said(self, points: Points) -> Tensor:
        z = self.factors.mean[:, : self.factors.latents]
        return torch.einsum("npt,stz,nz->nps", points.phi, self.weights, nn.functional.pad(z, (1, 0), value=1.0))

    def latents(self) -> Latents:
        z = self.factors.mean[:, : self.factors.latents]
        missing = self.network.settings.encoder.latents - self.factors.latents
        return Latents(self.at.float(), nn.functional.pad(z, (0, missing)).float())


def products_of(network: Network) -> PolynomialField | None:
    """The products of a network, where a regression can find them: they are added to the physics."""
    if network.recalls or network.dynamics.learns_velocity:
        return None
    part, settings = _products(network.dynamics), network.settings
    matched = method_named(settings.method).objective == "matching"
    plain = settings.residual.composition == "additive" and not settings.residual.sees_theta
    if part is None or not (matched and plain and bool(network.dynamics.open.any())):
        return None
    return part if part.coefficients.in_features <= MOST_COEFFICIENTS else None


def part_of(network: Network) -> PolynomialField:
    part = products_of(network)
    assert part is not None, "asked of a network with products"
    return part


def polynomial_of(dynamics: Dynamics) -> PolynomialField:
    """The same of the dynamics of such a network."""
    part = _products(dynamics)
    assert part is not None, "asked of dynamics with products"
    return part


def _products(dynamics: Dynamics) -> PolynomialField | None:
    field = dynamics.field
    return field if isinstance(field, PolynomialField) else getattr(field, "products", None)


@torch.no_grad()
def regressed(network: Network, shown: Shown) -> Law | None:
    """With as few factors as leave hardly more unexplained than many; None if all fail."""
    if products_of(network) is None:
        return None
    return _simplest([_with(factors, network, shown) for factors in range(part_of(network).latents + 1)])


def _simplest(laws: list[Law]) -> Law | None:
    """The first that leaves hardly more unexplained than any; None if all fail."""
    found = [one for one in laws if one.factors.finite]
    least = min((one.left for one in found), default=0.0)
    return next((one for one in found if one.left <= MORE * least), None)


def _with(factors: int, network: Network, shown: Shown, terms: Terms | None = None) -> Law:
    at = torch.zeros(shown.count, network.shapes.free, dtype=torch.float64)
    points = shown.points(network, part_of(network), at, terms)
    found = Factors.first(points, factors, torch.Generator().manual_seed(network.settings.training.seed))
    for _ in range(ROUNDS):
        for _ in range(SWEEPS):
            before, found = found, found.better(points)
            if found.as_good_as(before):
                break
        at = (at + found.told(points).steps().clamp(-LONGEST_STEP, LONGEST_STEP)).clamp(-FARTHEST, FARTHEST)
        points = shown.points(network, part_of(network), at, terms)
    return Law(network, found.told(points), at)


@torch.no_grad()
def in_few_terms(law: Law, shown: Shown) -> list[Law]:
    """The same law in few terms, or none at all, and in more where those leave more unexplained; itself as the last.

    In noise derivatives hardly tell what is left: there all of them are rivals, for forecasts to choose among.
    """
    found, noisy, before = [], bool(law.network.observed.any()), None
    for worth in WORTH:
        chosen = _terms(law, shown, worth)
        if chosen is None or chosen == before:
            continue
        few, before = in_terms(law.network, shown, chosen), chosen
        found += [few] if few is not None and few.left <= FAR_MORE * law.left else []
        if found and found[-1].left <= MORE * law.left and not noisy:
            return found
    if before is not None and shown.alone:
        more = grown(law.network, part_of(law.network), shown, law.at, before)
        found += [few for chosen in more if (few := in_terms(law.network, shown, chosen)) is not None]
    return [*found, law]


def _terms(law: Law, shown: Shown, worth: float) -> list[tuple[int, int]] | None:
    """Equations and terms that divide the squares of what is left by `worth` each; None if it cannot be told so."""
    network, part, (rows, evidence) = law.told(), part_of(law.network), shown.largest()
    latents = law.latents().select(torch.arange(shown.count)[rows])
    return few_terms(network.dynamics, evidence, latents, law.factors.noise.sqrt(), part.degree, worth)


@torch.no_grad()
def in_terms(network: Network, shown: Shown, chosen: list[tuple[int, int]]) -> Law | None:
    """In these terms alone, by equation and column; None if they are more than its products."""
    part, noisy = part_of(network), bool(network.observed.any())
    columns = sorted({term for _, term in chosen}) or [0]
    allowed = torch.zeros(len(network.physics.states), len(columns))
    for equation, term in chosen:
        allowed[equation, columns.index(term)] = 1.0
    terms = Terms(columns, part.degree, allowed)
    written = _written(terms, network, shown)
    if written is None:
        return None
    most, shown = min(len(chosen), part.latents), shown.fully
    found = [_with(factors, network, shown, terms) for factors in ([most] if noisy else range(most + 1))]
    few = _simplest(found)
    return None if few is None else replace(few, written=written)


def _written(terms: Terms, network: Network, shown: Shown) -> Tensor | None:
    """Terms as sums of products (K, T), in double: else paths tell; None if they are more than such sums."""
    evidence, dynamics = shown.largest()[1].double(), deepcopy(network.dynamics).double()
    eps = torch.zeros(len(evidence.times), network.shapes.free, dtype=torch.float64)
    products = products_at(dynamics, part_of(network), evidence, eps).flatten(0, 1)
    values = terms.at(dynamics, evidence).flatten(0, 1)
    sums = torch.linalg.lstsq(products, values, driver="gelsd").solution
    wrong = (products @ sums - values).square().mean(0) / values.square().mean(0)
    return sums.mT if bool((wrong < EXACT**2).all()) else None
