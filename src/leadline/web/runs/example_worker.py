"""Running the example in the documentation of a library object, inside a worker."""

import contextlib
import doctest
import importlib
import io
import sys
import traceback
from typing import Any

from leadline.presentation.library.reading import prompted


def transcript(name: str) -> str:
    """What a session with the examples of "package.name" really shows, from the first prompt to the last output.

    Names are those of the object's own module, and numbers have 64 bits, as in the tests of the examples.

    >>> transcript("probability.gaussian_kl").splitlines()[-1]
    '0.5'
    """
    import jax

    import leadline

    package, _, attribute = name.rpartition(".")
    module = importlib.import_module(f"leadline.{package}")
    thing = getattr(module, attribute)
    names = {**vars(sys.modules.get(getattr(thing, "__module__", ""), module)), "leadline": leadline}
    shown = []
    with jax.enable_x64(True):
        for example in doctest.DocTestParser().get_examples(thing.__doc__ or "", name):
            if example.options.get(doctest.SKIP):
                continue
            output, raised = _run(example, names)
            shown += [prompted(example.source), output]
            if raised and example.exc_msg is None:  # what follows would only complain of what is missing
                break
    return "".join(shown).rstrip("\n")


def _run(example: doctest.Example, names: dict[str, Any]) -> tuple[str, bool]:
    """What an example prints, and whether it raised an exception."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(example.source, "<example>", "single", dont_inherit=True), names)
        except Exception as error:
            printed.write("Traceback (most recent call last):\n    ...\n")
            printed.writelines(traceback.format_exception_only(error))
            return printed.getvalue(), True
    return printed.getvalue(), False
