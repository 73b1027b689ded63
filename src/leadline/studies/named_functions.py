"""A function by its name, as it is written on a command line: optax.adam, or my_rules.py:make."""

import ast
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from leadline._messages import MOST_SHOWN, BadInput, brief, unknown

USERS_ERRORS = (Exception, SystemExit)  # of code of a user's: exit() must not end the command as if all were well


def named_function(name: str) -> Callable:
    """The callable `package.function` or `path/to/file.py:function`.

    >>> named_function("optax.sgd").__name__
    'sgd'
    """
    path, colon, attribute = name.rpartition(":")
    if colon and path:
        holder: Any = loaded_file(Path(path))
    else:
        module, _, attribute = name.rpartition(".")
        if not module:
            raise BadInput(f"{name} names no function; write package.function, as optax.adam, or file.py:function.")
        try:
            holder = importlib.import_module(module)
        except ImportError as missing:
            raise BadInput(f"Cannot import {module} ({missing}); write package.function or file.py:function.") from None
    found = getattr(holder, attribute, None)
    if not callable(found):
        callables = [n for n, value in inspect.getmembers(holder, callable) if not n.startswith("_")]
        raise BadInput(unknown(f"function of {path or module}", attribute, callables))
    return found


def loaded_file(path: Path) -> Any:
    """The module in a user's file, which is run; it may import what lies beside it."""
    if not path.is_file():
        raise BadInput(f"There is no file {path}; write file.py:name.")
    spec = importlib.util.spec_from_file_location(f"_leadline_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise BadInput(f"{path} is not a Python file; write file.py:name.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except USERS_ERRORS as error:
        raise BadInput(f"{path} does not run ({_told(error)}); mend it and try again.") from None
    finally:
        sys.path.pop(0)
    return module


def called(function: Callable, name: str) -> Any:
    """What a user's function without arguments gives; whatever it raises is one sentence."""
    try:
        return function()
    except USERS_ERRORS as error:
        raise BadInput(f"{name} does not run ({_told(error)}); mend it and try again.") from None


def _told(error: BaseException) -> str:
    return brief(f"{type(error).__name__}: {error}", 2 * MOST_SHOWN)


def read_settings(settings: Mapping[str, str]) -> dict[str, Any]:
    """Words of the command line as Python values: numbers, truth values, None; anything else stays a word.

    >>> read_settings({"b1": "0.8", "nesterov": "true", "kind": "max"})
    {'b1': 0.8, 'nesterov': True, 'kind': 'max'}
    """
    return {name: _value(word) for name, word in settings.items()}


def _value(word: str) -> Any:
    known = {"true": True, "false": False, "none": None}
    if word.lower() in known:
        return known[word.lower()]
    try:
        return ast.literal_eval(word)
    except (ValueError, SyntaxError):
        return word
