"""The infinitely wide twin of a recipe's network, trained in closed form beside the finite one."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Int

from leadline import data, infinite_width, kernels
from leadline.data.sources.datasets import say
from leadline.kernels import machines
from leadline.kernels.gram.tiles import GRAM_BUDGET, gram_product

from .named_models import build_model
from .run_directory import training_images
from .settings import Recipe

KINDS = ("ntk", "nngp")


@dataclass(frozen=True)
class WideResult:
    """Kernel regression with one kernel of the infinitely wide network."""

    kind: str  #: "ntk": trained to the end by gradient descent, on average; "nngp": only its last layer, or Bayes
    test_accuracy: float
    leave_one_out_accuracy: float  #: on the training images, each predicted from all others
    condition: float  #: of the matrix solved with
    seconds: float


@dataclass(frozen=True)
class Twin:
    """What came of the infinite width: one result per kernel, how the kernels were obtained, and the memory it took."""

    recipe: Recipe
    images: int
    ridge: float
    report: tuple[str, ...]
    results: tuple[WideResult, ...]
    peak_bytes: int  #: of this process, everything included

    def record(self) -> dict[str, Any]:
        """The outcome in numbers, as `leadline wide --json` prints it."""
        return {
            "dataset": self.recipe.data.name,
            "model": self.recipe.kind,
            "images": self.images,
            "ridge": self.ridge,
            "layers": list(self.report),
            "peak_bytes": self.peak_bytes,
            "kernels": [vars(result) for result in self.results],
        }


def widen(
    recipe: Recipe, *, ridge: float = 1e-4, budget: int = GRAM_BUDGET, notice: Callable[[str], None] = say
) -> Twin:
    """The network of the recipe with all hidden widths infinite, on the recipe's training images and the test images.

    Its kernel (`infinite_width.wide_kernel`) is computed in tiles, in double precision; scores solve
    (K + ridge mean(diag K) I) α = one-hot labels minus their mean. `budget` bytes bound a kernel matrix with its tiles;
    the Cholesky factor takes as much as the matrix again.

    >>> from leadline.training.recipes import parse_recipe
    >>> text = 'data = {name = "digits", images = 200}\\nmodel = {kind = "mlp", hidden = [64]}\\ntraining.epochs = 1'
    >>> widen(parse_recipe(text)).results[0].test_accuracy > 0.85
    True
    """
    if not ridge > 0:
        raise ValueError(f"The ridge is {ridge}; give a number above 0, relative to the mean of the kernel's diagonal.")
    sample = data.load(recipe.data.name, recipe.data.path or None, notice=notice)
    images, labels = training_images(recipe, sample)
    network = build_model(recipe.model, images.shape[1:], len(sample.classes), key=jax.random.key(recipe.training.seed))
    with jax.enable_x64(True):
        wide = infinite_width.wide_kernel(network, init=getattr(recipe.model, "init", "he"))
        inputs, tests = (part.reshape(len(part), -1).astype(float) for part in (images, sample.test_inputs))
        results = []
        for kind in KINDS:
            began = time.monotonic()
            notice(f"{kind}: {len(inputs)} training and {len(tests)} test images ...")
            kernel = partial(wide.kernel_fn, get=kind)
            accuracy, left_out, condition = _regress(
                kernel, inputs, labels, tests, sample.test_labels, len(sample.classes), ridge, budget
            )
            results.append(WideResult(kind, accuracy, left_out, condition, round(time.monotonic() - began, 3)))
    return Twin(recipe, len(images), ridge, tuple(map(str, wide.report)), tuple(results), _peak_bytes())


def _regress(
    kernel: Callable,
    inputs: Float[np.ndarray, "n ..."],
    labels: Int[np.ndarray, " n"],
    tests: Float[np.ndarray, "m ..."],
    test_labels: Int[np.ndarray, " m"],
    classes: int,
    ridge: float,
    budget: int,
) -> tuple[float, float, float]:
    """The accuracies on the test images and, leaving one out, on the training images; the condition number."""
    K = kernels.gram(kernel, inputs, budget=budget)
    targets = np.eye(classes)[labels]
    centre = targets.mean(axis=0)
    fit = machines.kernel_ridge(kernel, inputs, targets - centre, ridge * np.trace(K) / len(K) ** 2, gram=K)
    del K
    scores = gram_product(kernel, tests, inputs, fit.alpha, budget=budget)
    right = np.argmax(scores + centre, axis=1) == test_labels
    left_out = np.argmax(targets - fit.leave_one_out(), axis=1) == labels
    return float(right.mean()), float(left_out.mean()), fit.factor.condition


def _peak_bytes() -> int:
    """The most memory this process has held so far; 0 where the system does not say."""
    try:
        import resource
    except ImportError:  # not on Windows
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
