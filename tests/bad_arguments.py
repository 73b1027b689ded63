"""Calls of public functions with one argument made bad, in a process where no type is checked: what users have.

    python tests/bad_arguments.py PACKAGE...

prints a line for each bad call that is not answered rightly: `package.function: outcome (argument, what became of it)`.
The call is the first one in the function's doctest; an array argument gets a NaN, loses all rows, is transposed or
loses an axis, and a whole number becomes 0 and -1. A ValueError or TypeError is right, and so is a finite answer.
"""

import contextlib
import doctest
import importlib
import inspect
import io
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from leadline.presentation.library import library_packages

SECONDS = 60  # of processor time, of one call
SAID = (ValueError, TypeError, NotImplementedError)


class _Found(Exception):
    pass


def first_call(package: str, name: str) -> tuple[Callable, tuple, dict] | None:
    """The function and the arguments of its first call in its own doctest; None where there is none."""
    holder = importlib.import_module(f"leadline.{package}")
    function = getattr(holder, name)
    if inspect.isclass(function) or not callable(function) or not getattr(function, "__module__", None):
        return None
    module = importlib.import_module(function.__module__)
    calls: list[tuple[tuple, dict]] = []

    def recorded(*args: Any, **options: Any) -> Any:
        calls.append((args, options))
        raise _Found

    places = [place for place in (holder, module) if vars(place).get(name, function) is function]
    text = inspect.getdoc(function) or ""
    scope = dict(vars(module)) | {name: recorded}
    try:
        for place in places:
            setattr(place, name, recorded)
        for example in doctest.DocTestParser().get_examples(text):
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(example.source, "<doctest>", "single"), scope)
    except _Found:
        return function, *calls[0]
    except Exception:  # an example that shows an error, or that another test judges
        return None
    finally:
        for place in places:
            setattr(place, name, function)
    return None


def mutations(value: Any) -> Iterator[tuple[str, Any]]:
    """A value made bad, in one way after another."""
    if isinstance(value, jax.Array | np.ndarray) and value.ndim:
        array = np.asarray(value) if not jax.dtypes.issubdtype(value.dtype, jax.dtypes.extended) else None
        if array is None:  # a key
            return
        back = jax.numpy.asarray if isinstance(value, jax.Array) else np.asarray
        if array.dtype.kind == "f" and array.size:
            spoiled = array.copy()
            spoiled.flat[0] = np.nan
            yield "NaN", back(spoiled)
        yield "empty", back(array[:0])
        if array.ndim == 2 and array.shape[0] != array.shape[1]:
            yield "transposed", back(array.T)
        if len(array):
            yield "one axis fewer", back(array[0])
    elif isinstance(value, int) and not isinstance(value, bool):
        yield "zero", 0
        yield "negative", -1


def finite(answer: Any) -> bool:
    leaves = [leaf for leaf in jax.tree.leaves(answer) if isinstance(leaf, float | jax.Array | np.ndarray)]
    numbers = [np.asarray(leaf) for leaf in leaves if not jax.dtypes.issubdtype(leaf_type(leaf), jax.dtypes.extended)]
    return all(np.isfinite(part).all() for part in numbers if part.dtype.kind in "fc")


def leaf_type(leaf: Any) -> Any:
    return getattr(leaf, "dtype", np.dtype(float))


def outcome(function: Callable, args: tuple, options: dict, kind: str) -> str:
    """What is wrong with how the function answers, or nothing."""
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        answer = function(*args, **options)
        return "non-finite from NaN" if kind == "NaN" and not finite(answer) else ""
    except SAID as error:
        return "" if str(error).strip() else f"{type(error).__name__} without a word"
    except TimeoutError:
        return "no answer"
    except Exception as error:
        return type(error).__name__
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def failures(package: str) -> Iterator[tuple[str, str, str, str]]:
    """(function, argument, mutation, outcome) of every bad call; the outcome is empty where it was answered rightly."""
    for name in library_packages()[package].names:
        found = first_call(package, name)
        if found is None:
            continue
        function, args, options = found
        for place, value in [*enumerate(args), *options.items()]:
            for kind, bad in mutations(value):
                given = (
                    (tuple(bad if i == place else a for i, a in enumerate(args)), options)
                    if isinstance(place, int)
                    else (args, options | {place: bad})
                )
                yield f"{package}.{name}", str(place), kind, outcome(function, *given, kind)


def late(*_: Any) -> None:
    raise TimeoutError


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    jax.config.update("jax_enable_x64", True)
    signal.signal(signal.SIGPROF, late)
    calls = 0
    for package in sys.argv[1:]:
        for function, argument, kind, wrong in failures(package):
            calls += 1
            if wrong:
                print(f"{function}: {wrong} ({argument}, {kind})", flush=True)
    print(f"{calls} calls", file=sys.stderr)
