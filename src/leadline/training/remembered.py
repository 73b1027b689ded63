"""Networks that are trained once and kept: their weights lie in the cache and are verified when they are read."""

import contextlib
import functools
import hashlib
import inspect
import json
import os
import platform
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import numpy as np
from jaxtyping import PyTree

from leadline._dependencies import dependencies, source_digest
from leadline._files import write_whole
from leadline.data.sources.cache import cache_directory
from leadline.data.sources.datasets import say

from .checkpoints import arrays_digest
from .weights import named_arrays, with_arrays

FRESH = "LEADLINE_FRESH"  # an environment variable: 1 trains anew whatever the cache holds
DAYS = 30  # weights that nobody read for so long are deleted
_VERSIONED = ("jax", "jaxlib", "equinox", "optax", "numpy", "scikit-learn")


class Task(NamedTuple):
    """What is to be trained: by which call, of which structure, under which name, and all that it depends on."""

    train: Callable[[], PyTree]
    like: PyTree
    name: str
    about: dict[str, Any]


@runtime_checkable
class Recipe(Protocol):
    """What says by itself how its network is trained, as `recipes.Recipe` does."""

    def task(self, notice: Callable[[str], None]) -> Task: ...


def remembered(
    recipe: Recipe | Callable[..., PyTree], like: PyTree = None, *, notice: Callable[[str], None] = say, **options: Any
) -> PyTree:
    """The network that a recipe trains: from the cache if it was trained before, and otherwise trained now and kept.

    `recipe` is a `recipes.Recipe`, or a function of `options` (numbers, texts, lists of them) that returns a pytree of
    arrays of the same structure as `like`, whose own numbers do not matter. The weights are kept under a digest of the
    recipe, of the source that it rests on, of the versions of what computes, of the precision and of the backend: a
    change of any of them trains anew. A file is read only if its content has the checksum it was written with; a
    damaged one is said and trained anew. Of several processes that ask at the same time one trains and the others wait.
    With LEADLINE_FRESH=1 in the environment every call trains, and keeps what came out.

    >>> from leadline.training.recipes import parse_recipe
    >>> recipe = parse_recipe('data.name = "digits"\\nmodel.kind = "linear"\\ntraining.epochs = 1')
    >>> net = remembered(recipe)
    >>> again = remembered(recipe)  # read
    >>> bool((net.layers[0].weight == again.layers[0].weight).all())
    True
    """
    if not callable(recipe) and (like is not None or options):
        raise ValueError("A recipe says all about its network; give it alone.")
    train, like, name, about = _of_function(recipe, like, options) if callable(recipe) else recipe.task(notice)
    file = cache_directory() / "weights" / f"{name.strip('_')}-{_digest(about)}.safetensors"
    fresh = os.environ.get(FRESH, "") not in ("", "0")
    if not fresh and (found := _read(file, like, notice)) is not None:
        return found
    with _alone(file, notice):
        if not fresh and (found := _read(file, like, notice)) is not None:  # by the process that was waited for
            return found
        network = train()
        arrays = named_arrays(network)
        network = with_arrays(like, arrays, f"What {name} trained")
        try:
            _write(file, arrays)
        except OSError as error:
            notice(f"Cannot keep the weights in {file} ({error.strerror}); they are trained again next time.")
        return network


def _of_function(function: Callable, like: PyTree, options: dict[str, Any]) -> Task:
    if like is None:
        raise ValueError(f"remembered needs a network like the one that {function.__qualname__} returns; give like=.")
    name = function.__qualname__
    about = {"function": f"{function.__module__}.{name}", "options": options, "source": _source_of(function)}
    return Task(functools.partial(function, **options), like, name, about)


def _source_of(function: Callable) -> str:
    """A digest of the module of a function and, within leadline, of all that it imports."""
    if inspect.unwrap(function).__closure__:  # a decorator, a type checker say, has variables of its own
        raise ValueError(
            f"The function {function.__qualname__} uses variables of the function around it, which would not be part "
            "of its digest; define it at the top of a module and pass them as options."
        )
    if dependencies(function.__module__):
        return source_digest(function.__module__)
    file = inspect.getsourcefile(function)
    if file is None or not Path(file).is_file():
        raise ValueError(f"The source of {function.__qualname__} is in no file; define it in a module.")
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


def _digest(about: dict[str, Any]) -> str:
    computed = {
        "versions": {name: version(name) for name in _VERSIONED},
        "machine": [platform.machine(), jax.default_backend()],
        "precision": [getattr(jax.config, flag) for flag in ("jax_enable_x64", "jax_default_matmul_precision")],
        "optimised": not jax.config.read("jax_disable_most_optimizations"),
    }
    try:
        text = json.dumps(about | computed, sort_keys=True)
    except TypeError as error:
        raise ValueError(
            f"The options of a remembered network must be numbers, texts or lists of them ({error})."
        ) from None
    return hashlib.sha256(text.encode()).hexdigest()[:24]


@contextlib.contextmanager
def _alone(file: Path, notice: Callable[[str], None]) -> Iterator[None]:
    """Only one process is inside for this file; where there are no locks (Windows), several may train the same."""
    try:
        import fcntl

        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(file.with_suffix(".lock"), os.O_CREAT | os.O_RDWR, 0o644)
    except (ImportError, OSError):
        yield
        return
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            notice(f"Waiting for another process that trains {file.stem} ...")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _read(file: Path, like: PyTree, notice: Callable[[str], None]) -> PyTree | None:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, "numpy") as content:
            arrays = {name: content.get_tensor(name) for name in content.keys()}  # noqa: SIM118 - not a dict
            checksum = (content.metadata() or {}).get("checksum")
    except FileNotFoundError:
        return None
    except (SafetensorError, OSError) as error:
        notice(f"{file} is damaged ({error}); it is trained anew.")
        return None
    if arrays_digest(arrays) != checksum:
        notice(f"{file} is damaged (its content does not have its checksum); it is trained anew.")
        return None
    with contextlib.suppress(OSError):  # a cache that is only readable
        os.utime(file)
    return with_arrays(like, arrays, str(file))


def _write(file: Path, arrays: dict[str, np.ndarray]) -> None:
    from safetensors.numpy import save

    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    write_whole(file, save(arrays, metadata={"checksum": arrays_digest(arrays)}))
    for old in file.parent.glob("*.safetensors"):
        if time.time() - old.stat().st_mtime > DAYS * 86400:
            old.unlink(missing_ok=True)
            old.with_suffix(".lock").unlink(missing_ok=True)
