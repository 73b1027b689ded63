"""Signatures for people: as the source writes them, not as Python prints them."""

import ast
import functools
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

_WIDTH = 88  # characters of one line
_NOT_HELD = ("ClassVar", "AbstractVar", "AbstractClassVar")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def signature(name: str, thing: Any) -> str:
    """How a function or class is called and what the class can do, or what a table holds."""
    if isinstance(thing, Mapping | tuple):
        return textwrap.fill(f"{name}: {', '.join(map(repr, thing))}", _WIDTH, subsequent_indent="    ")
    found = _definition(thing)
    if found is None:
        return f"{name}{inspect.signature(thing)}"
    text, node = found
    if isinstance(node, Function):
        return _call(name, text.arguments(node), "" if node.returns is None else f" -> {text.of(node.returns)}")
    classes = [c for base in reversed(inspect.getmro(thing)) if (c := _definition(base))]
    constructor = next((n for n in node.body if isinstance(n, Function) and n.name == "__init__"), None)
    fields = {name: field for t, c in classes for name, field in t.fields(c)}
    methods = {name: method for t, c in classes for name, method in t.methods(c)}
    arguments = text.arguments(constructor)[1:] if constructor else list(fields.values())
    return "\n".join([_call(name, arguments), *methods.values()])


@functools.cache
def source_tree(module: ModuleType) -> ast.Module:
    """What the text of a module parses to."""
    return ast.parse(inspect.getsource(module))


def _definition(thing: Any) -> tuple["_Text", Function | ast.ClassDef] | None:
    """Where this package defines a function or class at the top of a module."""
    thing = inspect.unwrap(thing)
    module = inspect.getmodule(thing)
    if module is None or not module.__name__.startswith("leadline."):
        return None
    for node in source_tree(module).body:
        if isinstance(node, Function | ast.ClassDef) and node.name == thing.__name__:
            return _text(module), node
    return None


def _call(name: str, arguments: list[str], returns: str = "") -> str:
    """In one line if it fits, else with one argument a line."""
    line = f"{name}({', '.join(arguments)}){returns}"
    if len(line) <= _WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {a},\n" for a in arguments) + f"){returns}"


class _Text:
    """The text of a module, in which nodes of its tree are found as they were written."""

    def __init__(self, text: str):
        self._lines = text.encode().split(b"\n")  # columns of a tree count bytes

    def of(self, node: ast.expr) -> str:
        """An expression in one line."""
        lines = self._lines[node.lineno - 1 : node.end_lineno]
        lines[-1] = lines[-1][: node.end_col_offset]
        lines[0] = lines[0][node.col_offset :]
        return " ".join(b" ".join(lines).decode().split())

    def arguments(self, node: Function) -> list[str]:
        """The arguments of a definition, with the marks / and * among them."""
        a = node.args
        plain = [*a.posonlyargs, *a.args]
        defaults = [None] * (len(plain) - len(a.defaults)) + a.defaults
        told = [self._declared(p.arg, p.annotation, d) for p, d in zip(plain, defaults, strict=True)]
        if a.posonlyargs:
            told.insert(len(a.posonlyargs), "/")
        if a.vararg:
            told.append("*" + self._declared(a.vararg.arg, a.vararg.annotation, None))
        elif a.kwonlyargs:
            told.append("*")
        told += [self._declared(p.arg, p.annotation, d) for p, d in zip(a.kwonlyargs, a.kw_defaults, strict=True)]
        return told + (["**" + self._declared(a.kwarg.arg, a.kwarg.annotation, None)] if a.kwarg else [])

    def fields(self, node: Function | ast.ClassDef) -> Iterator[tuple[str, str]]:
        """What a dataclass, module or named tuple holds."""
        for n in node.body:
            if not isinstance(n, ast.AnnAssign) or not isinstance(n.target, ast.Name):
                continue
            name = n.target.id
            if not name.startswith("_") and not self.of(n.annotation).startswith(_NOT_HELD):
                yield name, self._declared(name, n.annotation, _default(n.value))

    def methods(self, node: Function | ast.ClassDef) -> Iterator[tuple[str, str]]:
        """The public methods and properties of a class, each with its first line of documentation."""
        for n in node.body:
            if not isinstance(n, Function) or (n.name.startswith("_") and n.name != "__call__"):
                continue
            decorators = {ast.unparse(d).split("(")[0].split(".")[-1] for d in n.decorator_list}
            names = [argument.split(":")[0].split("=")[0] for argument in self.arguments(n)]
            call = ", ".join(names if "staticmethod" in decorators else names[1:])
            told = f"    .{n.name}" + ("" if decorators & {"property", "cached_property"} else f"({call})")
            first = (ast.get_docstring(n) or "").split("\n")[0]
            yield n.name, told + (f"  # {first}" if first else "")

    def _declared(self, name: str, annotation: ast.expr | None, default: ast.expr | None) -> str:
        told = name if annotation is None else f"{name}: {self.of(annotation)}"
        if default is None:
            return told
        return told + (" = " if annotation else "=") + self.of(default)


@functools.cache
def _text(module: ModuleType) -> _Text:
    return _Text(inspect.getsource(module))


def _default(value: ast.expr | None) -> ast.expr | None:
    """The default of a field, also where it is said as field(default=...)."""
    if isinstance(value, ast.Call) and ast.unparse(value.func).split(".")[-1] == "field":
        said = {k.arg: k.value for k in value.keywords}
        return said.get("default", said.get("default_factory"))
    return value
