"""The source in a TorchScript archive as Python: parsed, held to the subset that archives are written in, rewritten, compiled once.

An archive is somebody's file. Its source may call operations by name (`torch.add`), a few functions of the language (`int`, `range`),
and the methods, functions and classes that the archive itself defines: these get names that nothing else in Python has. There are no
imports, no other builtins, no attributes between double underscores, and no calls of values.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable
from typing import Any

METHOD = "_of_archive_"
"""What the names of an archive's methods begin with, so that none of Python's can be called."""


_OFTEN_EMPTY = ("layout", "pin_memory", "generator", "device")
"""Keyword arguments that say nothing where they are None, False or 0."""


class Refused(RuntimeError):
    """What an archive may not hold."""


_EXPRESSIONS = (
    ast.Constant, ast.Name, ast.Attribute, ast.Call, ast.keyword, ast.List, ast.Tuple, ast.Dict, ast.Subscript, ast.IfExp,
    ast.UnaryOp, ast.USub, ast.UAdd, ast.Not, ast.BoolOp, ast.And, ast.Or, ast.Load, ast.Store, ast.Starred,
)  # fmt: skip


def _refuse(node: ast.AST, where: str) -> Refused:
    line = getattr(node, "lineno", "?")
    return Refused(f"{where}, line {line}: {type(node).__name__} is no part of the source of a TorchScript archive")


def chain_of(node: ast.AST) -> list[str] | None:
    """`['torch', 'add']` for `torch.add`; None for what is no chain of names."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return [node.id, *reversed(parts)]


def parsed(text: str, where: str) -> ast.Module:
    """The tree of one file. RuntimeError where it is no Python, or nests too deep."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Refused(f"{where}: the source of the archive cannot be read: {error}") from None


class Translator:
    """Makes Python functions of the functions of an archive.

    resolve(chain): the class, function or value that `__torch__...` names. operation(space, name): what an operation's name means.
    language: functions of the language by name. constant(name): a value of `CONSTANTS`. keywords: what is made of an argument.
    """

    def __init__(
        self,
        resolve: Callable[[list[str]], Any],
        operation: Callable[[str, str], Any],
        language: dict[str, Any],
        constant: Callable[[str], Any],
        keywords: dict[str, Callable[[Any], Any]],
    ) -> None:
        self.resolve, self.operation, self.language, self.constant = resolve, operation, language, constant
        self.keywords = keywords

    def function(self, node: ast.FunctionDef, where: str) -> Callable[..., Any]:
        """The function of a definition, compiled."""
        return _Function(self, where).compiled(node)


class _Function:
    """The translation of one function."""

    def __init__(self, of: Translator, where: str) -> None:
        self.of, self.where = of, where
        self.globals: dict[str, Any] = {"__builtins__": {}, "inf": float("inf"), "nan": float("nan")}
        self.globals |= {"infj": complex(0, float("inf")), "nanj": complex(0, float("nan"))}
        self.names: dict[int, str] = {}
        self.aliases: dict[str, Any] = {}
        self.locals: set[str] = set()

    def compiled(self, node: ast.FunctionDef) -> Callable[..., Any]:
        if node.decorator_list:
            raise _refuse(node.decorator_list[0], self.where)
        given = node.args
        if given.vararg or given.kwarg or given.posonlyargs:
            raise _refuse(given, self.where)
        arguments = [*given.args, *given.kwonlyargs]
        self.locals = {self.name(a.arg, a) for a in arguments}
        self._alias(node)
        for inner in ast.walk(ast.Module(node.body, [])):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                self.locals.add(self.name(inner.id, inner))
        for a in arguments:
            a.annotation = None
        given.defaults = [self.expression(d) for d in given.defaults]
        given.kw_defaults = [None if d is None else self.expression(d) for d in given.kw_defaults]
        made = ast.copy_location(ast.FunctionDef("function", given, self.body(node.body), [], None), node)
        tree = ast.fix_missing_locations(ast.Module([made], []))
        code = compile(tree, f"<TorchScript {self.where}>", "exec")
        space = self.globals
        exec(code, space)  # of nothing but the nodes that were let through
        function: types.FunctionType = space.pop("function")
        function.__name__ = function.__qualname__ = self.where.rpartition(".")[2]
        return function

    def _alias(self, node: ast.FunctionDef) -> None:
        """Names that stand for functions of the archive all over the function: `_0 = __torch__.f`."""
        for inner in ast.walk(node):
            if isinstance(inner, ast.Assign) and len(inner.targets) == 1 and isinstance(inner.targets[0], ast.Name):
                chain = chain_of(inner.value)
                if chain is not None and chain[0] == "__torch__":
                    found = self.of.resolve(chain)
                    if callable(found):
                        self.aliases[inner.targets[0].id] = found

    def name(self, name: str, node: ast.AST) -> str:
        """A name, which must have no double underscores at its ends, nor be one of the translation's own."""
        if (
            (name.startswith("__") and name.endswith("__"))
            or name.startswith(("_global_", METHOD))
            or name == "function"
        ):
            raise Refused(f"{self.where}: the name {name!r} is not allowed in a TorchScript archive")
        return name

    def held(self, value: Any) -> ast.Name:
        """An expression for an object of ours."""
        name = self.names.get(id(value))
        if name is None:
            name = self.names[id(value)] = f"_global_{len(self.names)}"
            self.globals[name] = value
        return ast.Name(name, ast.Load())

    # -- statements

    def body(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        made = [m for s in statements if (m := self.statement(s)) is not None]
        return made or [ast.Pass()]

    def statement(self, s: ast.stmt) -> ast.stmt | None:
        if isinstance(s, ast.Assign):
            if len(s.targets) != 1:
                raise _refuse(s, self.where)
            target = s.targets[0]
            if isinstance(target, ast.Name) and target.id in self.aliases:
                return None
            return ast.copy_location(ast.Assign([self.target(target)], self.expression(s.value)), s)
        if isinstance(s, ast.AnnAssign):
            if s.value is None:
                return None
            return ast.copy_location(ast.Assign([self.target(s.target)], self.expression(s.value)), s)
        if isinstance(s, ast.Return):
            return ast.copy_location(ast.Return(None if s.value is None else self.expression(s.value)), s)
        if isinstance(s, ast.If):
            return ast.copy_location(ast.If(self.expression(s.test), self.body(s.body), self.orelse(s.orelse)), s)
        if isinstance(s, ast.While) and not s.orelse:
            return ast.copy_location(ast.While(self.expression(s.test), self.body(s.body), []), s)
        if isinstance(s, ast.For) and not s.orelse:
            made = ast.For(self.target(s.target), self.iterated(s.iter), self.body(s.body), [])
            return ast.copy_location(made, s)
        if isinstance(s, ast.With) and len(s.items) == 1:
            return self.context(s)
        if isinstance(s, ast.Expr):
            return ast.copy_location(ast.Expr(self.expression(s.value)), s)
        if isinstance(s, (ast.Pass, ast.Break, ast.Continue)):
            return s
        raise _refuse(s, self.where)

    def context(self, s: ast.With) -> ast.stmt:
        """`with x as y`, of an object of the archive."""
        held = ast.Name(f"context_{s.lineno}_", ast.Store())
        self.locals.add(held.id)
        opened = s.items[0]
        load = ast.Name(held.id, ast.Load())
        enter = ast.Call(ast.Attribute(load, METHOD + "__enter__", ast.Load()), [], [])
        nothing: list[ast.expr] = [ast.Constant(None)] * 3
        leave = ast.Call(ast.Attribute(load, METHOD + "__exit__", ast.Load()), nothing, [])
        begin: ast.stmt = ast.Expr(enter)
        if opened.optional_vars is not None:
            begin = ast.Assign([self.target(opened.optional_vars)], enter)
        first = ast.Assign([held], self.expression(opened.context_expr))
        made = ast.Try([begin, *self.body(s.body)], [], [], [ast.Expr(leave)])
        return ast.copy_location(ast.If(ast.Constant(True), [first, made], []), s)

    def orelse(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        return self.body(statements) if any(not isinstance(s, ast.Pass) for s in statements) else []

    def iterated(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
            return ast.Call(self.held(range), [self.expression(a) for a in node.args], [])
        return self.expression(node)

    def target(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Name):
            return ast.Name(self.name(node.id, node), ast.Store())
        if isinstance(node, (ast.Tuple, ast.List)):
            return ast.Tuple([self.target(n) for n in node.elts], ast.Store())
        if isinstance(node, ast.Attribute):
            return ast.Attribute(self.expression(node.value), self.name(node.attr, node), ast.Store())
        raise _refuse(node, self.where)

    # -- expressions

    def expression(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Call):
            return ast.copy_location(self.call(node), node)
        if isinstance(node, ast.Attribute):
            return self.attribute(node)
        if isinstance(node, ast.Name):
            if node.id in self.aliases:
                raise Refused(f"{self.where}: a function is used as a value")
            if node.id not in self.locals and node.id not in ("inf", "nan", "infj", "nanj"):
                raise Refused(f"{self.where}: the name {node.id!r} means nothing in a TorchScript archive")
            return ast.Name(self.name(node.id, node), ast.Load())
        if isinstance(node, ast.Slice) or not isinstance(node, _EXPRESSIONS):
            raise _refuse(node, self.where)
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                setattr(node, field, self.expression(value))
            elif isinstance(value, list):
                setattr(node, field, [self.expression(v) if isinstance(v, ast.expr) else v for v in value])
        return node

    def attribute(self, node: ast.Attribute) -> ast.expr:
        chain = chain_of(node)
        if chain is not None and chain[0] not in self.locals:
            if chain[0] == "CONSTANTS" and len(chain) == 2:
                return self.held(self.of.constant(chain[1]))
            if chain[0] == "__torch__":
                return self.held(self.of.resolve(chain))
            raise Refused(f"{self.where}: {'.'.join(chain)} means nothing in a TorchScript archive")
        return ast.Attribute(self.expression(node.value), self.name(node.attr, node), ast.Load())

    def call(self, node: ast.Call) -> ast.expr:
        function, chain = node.func, chain_of(node.func)
        if isinstance(function, ast.Name) and (function.id not in self.locals or function.id in self.aliases):
            return self.named(node, function.id)
        if chain is not None and chain[0] not in self.locals:
            return self.spaced(node, chain)
        if not isinstance(function, ast.Attribute):
            raise Refused(f"{self.where}: a value is called")
        method = ast.Attribute(self.expression(function.value), METHOD + function.attr, ast.Load())
        return ast.Call(method, *self.arguments(node))

    def arguments(self, node: ast.Call) -> tuple[list[Any], list[ast.keyword]]:
        keywords = []
        for k in node.keywords:
            if k.arg is None:
                raise _refuse(k, self.where)
            if k.arg in _OFTEN_EMPTY and isinstance(k.value, ast.Constant) and not k.value.value:
                continue
            value = self.expression(k.value)
            if k.arg in self.of.keywords:
                value = ast.Call(self.held(self.of.keywords[k.arg]), [value], [])
            keywords.append(ast.keyword(self.name(k.arg, node), value))
        return [self.expression(a) for a in node.args], keywords

    def named(self, node: ast.Call, name: str) -> ast.expr:
        """A call of a function of the language, or of one of the archive's by the name it was given."""
        if name in self.aliases:
            return ast.Call(self.held(self.aliases[name]), *self.arguments(node))
        if name in ("annotate", "unchecked_cast") and len(node.args) == 2:
            return self.expression(node.args[1])
        if name == "uninitialized":
            return ast.Constant(None)
        if name == "getattr" and len(node.args) == 2 and isinstance(node.args[1], ast.Constant):
            held = self.name(str(node.args[1].value), node)
            args = [self.expression(node.args[0]), ast.Constant(held)]
            return ast.Call(self.held(getattr), args, [])
        if name == "isinstance" and len(node.args) == 2:
            asked = self.of.language["isinstance"](node.args[1], self.of)
            return ast.Call(self.held(asked), [self.expression(node.args[0])], [])
        found = self.of.language.get(name)
        if found is None or name == "isinstance":
            raise Refused(f"{self.where}: the function {name!r} means nothing in a TorchScript archive")
        if node.keywords:  # `key=` would call a value
            raise _refuse(node.keywords[0], self.where)
        return ast.Call(self.held(found), *self.arguments(node))

    def spaced(self, node: ast.Call, chain: list[str]) -> ast.expr:
        if chain[0] == "torch" and len(chain) == 2:
            found = self.of.operation("aten", chain[1])
        elif chain[0] == "ops" and len(chain) == 3:
            found = self.of.operation(chain[1], chain[2])
        elif chain[0] == "__torch__" and chain[-1] == "__new__":
            return ast.Call(self.held(self.of.resolve(chain[:-1]).blank), [], [])
        elif chain[0] == "__torch__":
            found = self.of.resolve(chain)
        else:
            raise Refused(f"{self.where}: {'.'.join(chain)} means nothing in a TorchScript archive")
        return ast.Call(self.held(found), *self.arguments(node))
