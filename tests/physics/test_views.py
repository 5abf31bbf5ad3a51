from __future__ import annotations

import pytest
import torch

from greymatch.errors import GreymatchError
from greymatch.physics.views import View, split_scalars, split_states


def test_a_view_gives_the_tensor_itself_by_name():
    angle = torch.ones(3, requires_grad=True)
    assert View("state", {"angle": angle}).angle is angle
    assert View("state", {"angle": angle})["angle"] is angle


def test_a_name_not_declared_is_an_error_that_lists_and_suggests():
    view = View("parameter", {"omega": torch.ones(1), "length": torch.ones(1)})
    with pytest.raises(GreymatchError, match=r"parameter 'omga'.*declared: omega, length\. Did you mean 'omega'\?"):
        _ = view.omga
    with pytest.raises(GreymatchError, match=r"parameter '0'.*declared: omega, length"):
        list(view)  # pyright: ignore[reportArgumentType]


def test_without_any_names_the_error_says_so():
    with pytest.raises(GreymatchError, match="declared: none"):
        _ = View("parameter", {}).omega


def test_a_view_is_read_only():
    view = View("state", {"angle": torch.ones(1)})
    with pytest.raises(GreymatchError, match=r"read-only.*'angle'"):
        view.angle = torch.zeros(1)  # pyright: ignore[reportAttributeAccessIssue]


def test_python_can_ask_a_view_for_its_own_protocols():
    view = View("state", {"angle": torch.ones(1)})
    assert not hasattr(view, "__array__")
    assert dir(view) == ["angle"]
    assert repr(view) == "states(angle)"


def test_states_are_cut_from_the_axis_before_the_grid():
    x = torch.arange(2 * 5 * 3 * 4 * 6).reshape(2, 5, 3, 4, 6)
    parts = split_states(x, ["a", "b", "c"], grid_axes=2)
    assert list(parts) == ["a", "b", "c"]
    assert torch.equal(parts["b"], x[:, :, 1])


def test_scalars_broadcast_over_batch_and_grid():
    values = torch.tensor([[2.0, 3.0], [5.0, 7.0]])
    field = torch.ones(2, 4, 6)
    scaled = split_scalars(values, ["a", "b"], grid_axes=2)["b"] * field
    assert scaled.shape == field.shape
    assert scaled[0].unique().tolist() == [3.0]
    assert scaled[1].unique().tolist() == [7.0]
