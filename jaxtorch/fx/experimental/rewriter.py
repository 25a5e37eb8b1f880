"""`torch.fx.experimental.rewriter`: a tracer that takes `assert` and annotated assignments into the graph."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from collections.abc import Callable
from typing import Any

from ..._namespace.symbols import _assert
from ...nn.modules.module import Module
from ..annotate import annotate
from ..graph import Graph
from ..tracer import Tracer

__all__ = ["AST_Rewriter", "RewritingTracer"]

_OWN = {"_rewritten_assert": _assert, "_rewritten_annotate": annotate}


class AST_Rewriter(ast.NodeTransformer):
    """Replaces `assert` by calls of `torch._assert`, and `x: T = value` by `x = annotate(value, T)`."""

    def rewrite(self, fn: types.FunctionType) -> Callable[..., Any]:
        """The function written anew; OSError where its source is not to be had."""
        tree: Any = ast.parse(textwrap.dedent(inspect.getsource(fn)))
        if not isinstance(tree.body[0], ast.FunctionDef):
            raise OSError("could not get source code")
        definition: Any = self.visit(tree.body[0])
        definition.decorator_list = []
        outer = ast.parse(f"def outer({', '.join([*fn.__code__.co_freevars, *_OWN])}): pass")
        made: Any = outer.body[0]
        made.body = [definition]
        names: dict[str, Any] = {}
        exec(compile(ast.fix_missing_locations(outer), inspect.getsourcefile(fn) or "<rewritten>", "exec"), names)
        code = next(
            c for c in names["outer"].__code__.co_consts if isinstance(c, types.CodeType) and c.co_name == fn.__name__
        )
        cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
        cells.update({name: types.CellType(x) for name, x in _OWN.items()})
        closure = tuple([cells[name] for name in code.co_freevars])
        result = types.FunctionType(code, fn.__globals__, fn.__name__, fn.__defaults__, closure)
        result.__kwdefaults__ = fn.__kwdefaults__
        return result

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        """A call in its place."""
        message = node.msg or ast.Constant("")
        call = ast.Call(ast.Name("_rewritten_assert", ast.Load()), [node.test, message], [])
        return ast.copy_location(ast.Expr(call), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """An assignment of the value with its type; without a value, as it was."""
        if node.value is None:
            return node
        call = ast.Call(ast.Name("_rewritten_annotate", ast.Load()), [node.value, node.annotation], [])
        return ast.copy_location(ast.Assign([node.target], call), node)


class RewritingTracer(Tracer):
    """A tracer whose graphs have `assert` as calls of `torch._assert`: those of the function or of the module's own `forward`, not of
    modules inside."""

    def trace(self, root: Any, concrete_args: dict[str, Any] | None = None) -> Graph:
        """The graph of a module or function."""
        return super().trace(_rewritten(root), concrete_args)


def _rewritten(root: Any) -> Any:
    if not isinstance(root, Module):
        return AST_Rewriter().rewrite(root)
    kind = type(root)
    if kind.__module__.startswith(("jaxtorch.", "torch.")):
        return root
    forward: Any = kind.forward
    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    derived = type(kind.__name__, (kind,), {"forward": AST_Rewriter().rewrite(forward), **names})
    new = derived.__new__(derived)
    new.__dict__.update(root.__dict__)
    return new
