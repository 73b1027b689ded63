"""Calls of public functions with one argument made bad, in a process where no type is checked: what users have.

    python tests/bad_arguments.py PACKAGE...

prints a line for each bad call that is not answered rightly: `package.function: outcome (argument, what became of it)`.
The call is the first one in the function's doctest; an array argument gets a NaN, loses all rows, is transposed or
loses an axis, and a whole number becomes 0 and -1. A ValueError or TypeError is right, and so is a finite answer; an
error that the example's own function raises, such as a loss that indexes its parameters, is its author's to see as is.

So is an answer in which the NaN stays where it was put. A function of each element carries NaN on to that element
alone, as NumPy and JAX do, and a function of each row to what it answers for that row; under `jax.vmap` and `jax.jit`
it could not look at values anyway, and who reads the answer sees which input was bad. Where the example gives a single
row, the function is asked again with two, the bad and the good. A NaN that reaches the answer for other elements or
rows, or that a number over all of them was made of, is to be named instead. Where the answer to the good argument is
not finite either, as 0/0 at a minimum, nothing is asked.
"""

import contextlib
import doctest
import importlib
import inspect
import io
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np

import leadline
from leadline.presentation.library import library_packages

SECONDS = 60  # of processor time, of one call
LIBRARY = Path(leadline.__file__).parent
EXAMPLE = "<doctest>"  # the file of what an example defines
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
                exec(compile(example.source, EXAMPLE, "single"), scope)
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


def contained(answer: Any, bad: np.ndarray, usual: Any = None) -> bool:
    """Whether the answer is finite but where it answers the first element or row of `bad`, which holds the NaN.

    Where the `usual` answer, that to the good argument, is not finite, nothing is asked.
    """
    finite, before = _finite(answer), _finite(usual)
    if [part.shape for part in finite] == [part.shape for part in before]:
        finite = [part | ~other for part, other in zip(finite, before, strict=True)]
    return all(_contained(part, bad) for part in finite)


def _finite(answer: Any) -> list[np.ndarray]:
    leaves = [leaf for leaf in jax.tree.leaves(answer) if isinstance(leaf, float | jax.Array | np.ndarray)]
    numbers = [np.asarray(leaf) for leaf in leaves if not jax.dtypes.issubdtype(leaf_type(leaf), jax.dtypes.extended)]
    return [np.isfinite(part) for part in numbers if part.dtype.kind in "fc"]


def _contained(finite: np.ndarray, bad: np.ndarray) -> bool:
    if finite.all():
        return True
    if finite.shape == bad.shape:
        return bool(finite[~np.isnan(bad)].all()) or (bad.ndim > 1 and _other_rows(finite))
    return finite.ndim > 0 and len(finite) == len(bad) and _other_rows(finite)


def _other_rows(finite: np.ndarray) -> bool:
    return len(finite) > 1 and bool(finite[1:].all())


def _answers_rows(call: Callable[[Any], Any], bad: Any, good: Any) -> bool:
    """Whether a function given one row answers two rows, the bad and the good, as it answers each alone."""
    if bad.ndim > 1 and len(bad) > 1:
        return False
    back = jax.numpy if isinstance(bad, jax.Array) else np
    rows = back.stack([bad, good]) if bad.ndim == 1 else back.concatenate([bad, good])
    try:
        both, one = jax.tree.leaves(call(rows)), jax.tree.leaves(call(good))
    except Exception:  # not a function of rows
        return False
    alone = [np.asarray(leaf if bad.ndim == 1 else leaf[0]) for leaf in one if bad.ndim == 1 or np.ndim(leaf)]
    if [np.shape(leaf) for leaf in both] != [(2, *leaf.shape) for leaf in alone]:
        return False
    same = all(np.allclose(two[1], leaf) for two, leaf in zip(both, alone, strict=True))
    return same and contained(both, np.asarray(rows))


def _from_example(error: Exception) -> bool:
    """Whether the error comes from the example's own function, and not from the library."""
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    ours = [file for file in files if file == EXAMPLE or Path(file).is_relative_to(LIBRARY)]
    return bool(ours) and ours[-1] == EXAMPLE


def leaf_type(leaf: Any) -> Any:
    return getattr(leaf, "dtype", np.dtype(float))


def outcome(call: Callable[[Any], Any], bad: Any, good: Any, kind: str) -> str:
    """What is wrong with how the function answers the bad argument, or nothing."""
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        answer = call(bad)
        right = (
            kind != "NaN"
            or contained(answer, np.asarray(bad))
            or contained(answer, np.asarray(bad), call(good))
            or _answers_rows(call, bad, good)
        )
        return "" if right else "non-finite from NaN"
    except SAID as error:
        return "" if str(error).strip() else f"{type(error).__name__} without a word"
    except TimeoutError:
        return "no answer"
    except Exception as error:
        return "" if _from_example(error) else type(error).__name__
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
            call = _call(function, args, options, place)
            for kind, bad in mutations(value):
                yield (f"{package}.{name}", str(place), kind, outcome(call, bad, value, kind))


def _call(function: Callable, args: tuple, options: dict, place: int | str) -> Callable[[Any], Any]:
    """The function of its argument at this place alone, the others those of the example."""
    if isinstance(place, str):
        return lambda value: function(*args, **options | {place: value})
    return lambda value: function(*args[:place], value, *args[place + 1 :], **options)


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
