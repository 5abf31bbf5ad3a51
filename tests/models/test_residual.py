from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import Tensor, nn

from greymatch.errors import GreymatchError
from greymatch.models.residual import FIELDS, MOST_MULTIPLIED, ConvField, MlpField, PolynomialField
from greymatch.settings import ResidualSettings

SETTINGS = ResidualSettings(width=8, depth=2)


def shaken(field: nn.Module) -> nn.Module:
    generator = torch.Generator().manual_seed(0)
    for parameter in field.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator) / 2
    return field


GRIDS = [(7,), (5, 4), (3, 4, 5)]


@pytest.mark.parametrize(("kind", "grid"), [("mlp", ()), *((kind, grid) for kind in FIELDS for grid in GRIDS)])
@pytest.mark.parametrize("batch", [(1,), (3, 2)])
def test_a_field_starts_as_zero_and_has_one_output_for_each_state_and_head(
    kind: str, grid: tuple[int, ...], batch: tuple[int, ...]
):
    field = FIELDS[kind](2, 3, 2, 2, len(grid), SETTINGS)
    state, extra = torch.randn(*batch, 2, *grid), torch.randn(*batch, 3, *(1,) * len(grid))
    assert torch.equal(field(state, extra), torch.zeros(*batch, 4, *grid))
    assert shaken(field)(state, extra).std() > 0


def test_a_pointwise_field_does_the_same_at_every_pixel():
    field = shaken(MlpField(2, 3, 2, 1, 1, SETTINGS))
    state, extra = torch.randn(4, 2, 6), torch.randn(4, 3, 1)
    whole = field(state, extra)
    torch.testing.assert_close(field(state[..., 2:3], extra), whole[..., 2:3])


@pytest.mark.parametrize("kernel", [1, 3, 5])
def test_a_periodic_convolution_moves_with_the_field_and_sees_its_neighbours(kernel: int):
    settings = SETTINGS.model_copy(update={"kernel": kernel, "depth": 2})
    field = shaken(ConvField(2, 1, 2, 1, 2, settings))
    state, extra = torch.randn(3, 2, 12, 13), torch.randn(3, 1, 1, 1)
    whole = field(state, extra)
    shifted = field(state.roll((2, 5), (-2, -1)), extra)
    torch.testing.assert_close(shifted, whole.roll((2, 5), (-2, -1)), rtol=1e-4, atol=1e-5)
    other = state.clone()
    other[..., 4, 4] += 1
    reached = (field(other, extra) - whole).abs().amax((0, 1)) > 1e-6
    reach = kernel // 2  # of the first layer; all others are pointwise
    assert int(reached.sum()) == (2 * reach + 1) ** 2


@pytest.mark.parametrize("kernel", [1, 3])
@pytest.mark.parametrize("grid", [(7,), (5, 6), (3, 4, 5)])
def test_a_periodic_field_is_what_its_convolutions_make_of_state_and_extra(kernel: int, grid: tuple[int, ...]):
    field = ConvField(2, 3, 2, 1, len(grid), SETTINGS.model_copy(update={"kernel": kernel}))
    shaken(field)
    state, extra = torch.randn(4, 2, *grid), torch.randn(4, 3, *(1,) * len(grid))
    everywhere = extra.expand(4, 3, *grid)
    whole = torch.nn.Sequential(*field.trunk, *field.heads)
    expected = whole(torch.cat([state, everywhere], 1))
    torch.testing.assert_close(field(state, extra), expected, rtol=1e-4, atol=1e-5)
    if kernel == 1:
        torch.testing.assert_close(field(state, everywhere), expected, rtol=1e-4, atol=1e-5)


def test_extra_inputs_may_differ_from_pixel_to_pixel():
    field = shaken(ConvField(1, 1, 1, 1, 1, SETTINGS))
    state, extra = torch.randn(2, 1, 5), torch.randn(2, 1, 5)
    assert field(state, extra).shape == (2, 1, 5)


def test_a_convolution_without_a_grid_is_refused():
    with pytest.raises(GreymatchError, match=r"'conv' needs physics with 1 to 3 grid axes; got 0. Use kind 'mlp'"):
        ConvField(1, 1, 1, 1, 0, SETTINGS)


def test_an_even_kernel_is_refused():
    with pytest.raises(GreymatchError, match=r"`residual.kernel` must be odd.*got 4. Use 5"):
        ConvField(1, 1, 1, 1, 1, SETTINGS.model_copy(update={"kernel": 4}))


def test_the_products_beside_a_net_can_be_all_there_is():
    field = MlpField(2, 1, 1, 1, 0, SETTINGS).double()
    assert field.products is not None
    terms = list(itertools.combinations_with_replacement(range(4), 2))  # state 0 and 1, latent 2, one 3
    with torch.no_grad():
        field.products.coefficients.weight[0, terms.index((1, 2))] = -3.0
    state, latent = torch.randn(9, 2, dtype=torch.float64), torch.randn(9, 1, dtype=torch.float64)
    torch.testing.assert_close(field(state, latent), -3 * state[:, 1:] * latent)


@pytest.mark.parametrize("kind", ["mlp", "conv"])
def test_a_net_that_is_still_zero_is_not_asked_but_learns(kind: str):
    field = FIELDS[kind](2, 1, 2, 1, 1, SETTINGS.model_copy(update={"products": 2}))
    nn.init.ones_(field.get_parameter("products.coefficients.weight"))
    state, extra = torch.randn(3, 2, 5), torch.randn(3, 1, 1)
    asked = field(state, extra)
    calls = []
    field.get_submodule("trunk.1").register_forward_hook(lambda *_: calls.append(1))
    assert not field.netless
    with torch.no_grad():
        assert field.netless
        torch.testing.assert_close(field(state, extra), asked)
    assert not calls
    asked.sum().backward()
    assert bool(field.get_parameter("heads.0.weight").grad.any())  # pyright: ignore[reportOptionalMemberAccess]
    field.get_parameter("heads.0.bias").data += 1.0
    with torch.no_grad():
        assert not field.netless
        torch.testing.assert_close(field(state, extra), asked + 1)
    assert calls


def test_products_can_be_left_out_and_are_where_there_are_too_many():
    assert MlpField(2, 1, 1, 1, 0, SETTINGS.model_copy(update={"products": False})).products is None
    assert MlpField(MOST_MULTIPLIED, 0, 1, 1, 0, SETTINGS).products is not None
    assert MlpField(MOST_MULTIPLIED, 1, 1, 1, 0, SETTINGS).products is None


@pytest.mark.parametrize(
    ("grid", "extra", "composition"),
    [((), 2, "additive"), ((), 0, "additive"), ((5,), 2, "additive"), ((4, 3), 0, "additive"), ((4, 3), 2, "informed")],
)
def test_a_polynomial_is_the_sum_of_its_coefficients_times_its_terms(grid, extra, composition):
    settings = ResidualSettings(kind="polynomial", degree=3, composition=composition)
    field = PolynomialField(2, extra, 2, 1, len(grid), settings).double()
    torch.nn.init.normal_(field.coefficients.weight)
    state = torch.randn(7, 2, *grid, dtype=torch.float64)
    beside = torch.randn(7, extra, *(grid if composition == "informed" else (1,) * len(grid)), dtype=torch.float64)
    seen = torch.cat([state, beside.expand(7, extra, *grid), torch.ones(7, 1, *grid)], 1)
    terms = itertools.combinations_with_replacement(range(2 + extra + 1), 3)
    products = torch.stack([seen[:, list(term)].prod(1) for term in terms], 1)
    expected = torch.einsum("om,bm...->bo...", field.coefficients.weight, products)
    torch.testing.assert_close(field(state, beside), expected)


def test_coefficients_of_a_polynomial_are_linear_in_z():
    field = PolynomialField(2, 3, 1, 1, 0, ResidualSettings(kind="polynomial", degree=2), latents=2).double()
    torch.nn.init.normal_(field.coefficients.weight)
    state, driven = torch.randn(5, 2, dtype=torch.float64), torch.randn(5, 1, dtype=torch.float64)

    def said(z: list[float]) -> Tensor:
        return field(state, torch.cat([torch.tensor(z, dtype=torch.float64).expand(5, 2), driven], -1))

    torch.testing.assert_close(said([1.0, 2.0]) - said([0.0, 2.0]), said([3.0, -1.0]) - said([2.0, -1.0]))
    assert not torch.equal(said([1.0, 0.0]), said([0.0, 0.0]))
    plain = field.plain_terms(state, torch.cat([torch.zeros(5, 2, dtype=torch.float64), driven], -1))
    torch.testing.assert_close(plain @ field.coefficients.weight[:, ::3].mT, said([0.0, 0.0]))


def test_a_polynomial_is_exact_where_the_truth_is_one():
    # u - u^3 - 2 u z: least squares on its terms leaves nothing, and holds far outside of what was seen
    field = PolynomialField(1, 1, 1, 1, 0, ResidualSettings(kind="polynomial", degree=3)).double()
    seen, far = torch.rand(50, 2, dtype=torch.float64), 10 * torch.rand(50, 2, dtype=torch.float64)

    def truth(x: Tensor) -> Tensor:
        return (x[:, 0] - x[:, 0] ** 3 - 2 * x[:, 0] * x[:, 1])[:, None]

    count = field.coefficients.weight.shape[1]
    assert count == math.comb(2 + 3, 3)
    columns = []
    for index in range(count):
        field.coefficients.weight.data = torch.eye(count, dtype=torch.float64)[index : index + 1]
        columns.append(field(seen[:, :1], seen[:, 1:]))
    found = torch.linalg.lstsq(torch.cat(columns, 1), truth(seen)).solution
    field.coefficients.weight.data = found.T
    torch.testing.assert_close(field(far[:, :1], far[:, 1:]), truth(far), rtol=1e-6, atol=1e-6)
