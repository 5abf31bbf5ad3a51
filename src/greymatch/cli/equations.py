"""The equations of a physics, read from its function's source."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from greymatch.physics.physics import Physics


def equations(physics: Physics) -> list[str]:
    """Lines such as `angle'' = -omega^2 * sin(angle)`; the function's name where its source tells no more."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(physics.function)))
    except (OSError, TypeError, SyntaxError):
        return [f"{physics.name}(t, x, p)"]
    returned = [node.value for node in ast.walk(tree) if isinstance(node, ast.Return)]
    if len(returned) != 1 or not isinstance(returned[0], ast.Dict):
        return [f"{physics.name}(t, x, p)"]
    definitions = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    return [*_sides(returned[0], "'" * physics.order), *(f"with {_plain(node)}" for node in definitions)]


def _sides(returned: ast.Dict, primes: str) -> list[str]:
    pairs = zip(returned.keys, returned.values, strict=True)
    return [f"{key.value}{primes} = {_plain(value)}" for key, value in pairs if isinstance(key, ast.Constant)]


def _plain(node: ast.AST) -> str:
    return ast.unparse(_Unprefixed().visit(node)).replace(" ** ", "^")


class _Unprefixed(ast.NodeTransformer):
    """x.angle becomes angle, torch.sin becomes sin."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        return ast.Name(node.attr) if isinstance(node.value, ast.Name) else node
