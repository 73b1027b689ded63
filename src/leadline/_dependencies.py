"""What a module of leadline rests on: the modules it imports, through the stubs of lazy packages, all the way down."""

import ast
import functools
import hashlib
import threading
from collections.abc import Iterator
from pathlib import Path

_TOP = Path(__file__).parent
_NAME = _TOP.name
_PARSING = threading.Lock()


@functools.cache
def source_digest(*modules: str) -> str:
    """A digest of the source of these modules and of everything in leadline that they import, directly or not."""
    digest = hashlib.sha256()
    for name in sorted(frozenset().union(*map(dependencies, modules))):
        digest.update(name.encode() + b"\0" + _source(name).read_bytes())
    return digest.hexdigest()[:12]


@functools.cache
def dependencies(module: str) -> frozenset[str]:
    """The module itself and all modules of leadline that it imports, directly or not; none if it is no such module.

    `from leadline import kernels` alone brings in nothing: `kernels.gram` brings in the module that defines `gram`.
    """
    found: set[str] = set()
    waiting = [module] if _file(module) else []
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [used for used in _imported(name) if used not in found]
    return frozenset(found)


@functools.cache
def _imported(module: str) -> frozenset[str]:
    tree = _tree(_source(module))
    bound: dict[str, str] = {}
    used: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for name in _targets(node, module):
                place, _, own = name.rpartition(".")
                if _file(name):
                    bound[next(a.asname or a.name for a in node.names if a.name == own)] = name
                    used.add(name)
                else:
                    used |= set(_home(place, own))
        elif isinstance(node, ast.Import):
            used |= {alias.name for alias in node.names if _file(alias.name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in bound:
            used |= set(_home(bound[node.value.id], node.attr))
    return frozenset(used)


def _targets(node: ast.ImportFrom, module: str) -> Iterator[str]:
    """The absolute names that a statement in `module` imports, of those in leadline."""
    package = module.split(".") if _source(module).name == "__init__.py" else module.split(".")[:-1]
    place = package[: len(package) - node.level + 1] if node.level else []
    source = ".".join([*place, *([node.module] if node.module else [])])
    if source.split(".")[0] == _NAME:
        yield from (f"{source}.{alias.name}" for alias in node.names)


def _home(package: str, name: str) -> Iterator[str]:
    """The modules in which `package.name` is found: the one that its stub names, or a submodule, and the package."""
    if _file(package):
        yield package
        home = _stub(package).get(name)
        if home:
            yield home
        elif _file(f"{package}.{name}"):
            yield f"{package}.{name}"


@functools.cache
def _stub(package: str) -> dict[str, str]:
    """Name → module, as the stub of a lazy package has it."""
    file = _file(package)
    stub = file.with_suffix(".pyi") if file else None
    if stub is None or not stub.exists():
        return {}
    imports = [n for n in _tree(stub).body if isinstance(n, ast.ImportFrom)]
    return {a.name: f"{package}.{n.module}" for n in imports if n.module for a in n.names}


def _tree(file: Path) -> ast.Module:
    """The syntax tree of a file, made by one thread at a time: in several, Python 3.11 fails now and then."""
    with _PARSING:
        return ast.parse(file.read_bytes())


def _source(module: str) -> Path:
    """The source file of a module that is one of leadline."""
    file = _file(module)
    if file is None:
        raise LookupError(f"{module} is no module of {_NAME}.")
    return file


@functools.cache
def _file(module: str) -> Path | None:
    """The source file of a module of leadline, or None."""
    top, *parts = module.split(".")
    if top != _NAME:
        return None
    place = _TOP.joinpath(*parts)
    candidates = (place / "__init__.py", place.with_suffix(".py")) if parts else (place / "__init__.py",)
    return next((file for file in candidates if file.is_file()), None)
