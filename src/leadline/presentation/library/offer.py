"""The packages of the library and what they export, as `index.json` has them.

Pages read the index and neither import the library nor parse its source: they are made in several threads at once, in
which Python 3.11 does not parse reliably, and by a process that should stay small. `reading` makes the index;
`python -m leadline.claims.indexing` writes it, and a test says when it is stale.
"""

import functools
import json
from pathlib import Path
from typing import Any, NamedTuple

INDEX = Path(__file__).with_name("index.json")


class LibraryObject(NamedTuple):
    """A public function or class: `summary` is the first sentence of its documentation and `text` all of it as HTML,
    `example` the transcript with its prompts, `code` without them."""

    name: str
    signature: str
    summary: str
    text: str
    example: str
    code: str


class LibraryModule(NamedTuple):
    """What a package exports from one of its modules: the module's title, and the first sentence about each name."""

    title: str
    names: dict[str, str]


class LibraryPackage(NamedTuple):
    """A public package: what it is for, and the names that it exports, by module in the order of its stub."""

    name: str
    about: str
    modules: tuple[LibraryModule, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted((name for module in self.modules for name in module.names), key=str.casefold))


def library_packages() -> dict[str, LibraryPackage]:
    """Every package of the library that exports names or packages, in alphabetical order."""
    return _packages()


def packages_within(name: str) -> list[LibraryPackage]:
    """The packages directly inside of this one; inside of the library for an empty name."""
    return [package for package in library_packages().values() if package.name.rpartition(".")[0] == name]


def library_names() -> list[str]:
    """Every page of the library: packages, and each name that one exports."""
    packages = library_packages().values()
    return [name for p in packages for name in (p.name, *(f"{p.name}.{own}" for own in p.names))]


def library_object(name: str) -> LibraryObject:
    """The object "package.name".

    >>> library_object("probability.gaussian_kl").code.splitlines()[0]
    'import jax.numpy as jnp'
    """
    return _objects()[name]


@functools.cache
def _index() -> dict[str, Any]:
    return json.loads(INDEX.read_text(encoding="utf-8"))


@functools.cache
def _packages() -> dict[str, LibraryPackage]:
    return {
        name: LibraryPackage(name, about, tuple(LibraryModule(*module) for module in modules))
        for name, about, modules in _index()["packages"]
    }


@functools.cache
def _objects() -> dict[str, LibraryObject]:
    return {name: LibraryObject(name, *told) for name, *told in _index()["objects"]}
