"""A check of gradients: any function with a supplied gradient, or any layer, against differences and complex steps."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray, PyTree

from .difference_table import STEPS, DifferenceTable, difference_table, leaf_names
from .gradient_report import GradientReport, ParameterCheck


def check_gradient(
    function: Callable[[Any], Any],
    parameters: PyTree,
    gradient: PyTree | Callable[[Any], PyTree] | None = None,
    *,
    tolerance: float = 1e-6,
    steps: Sequence[float] = STEPS,
    entries: int | None = 30,
    key: PRNGKeyArray | None = None,
) -> GradientReport:
    """Compare a supplied gradient of function(parameters) → number with what the function itself does.

    `parameters` is any pytree, an Equinox module say; `gradient` a pytree of the same form, a function that gives one,
    or None for `jax.grad`. Each parameter is measured at `entries` of its entries (all with None), drawn by `key`, by
    central differences (f(θ + h e) - f(θ - h e))/2h over all `steps`, and by the complex step Im f(θ + i h e)/h where
    the function is analytic. Errors are relative to the parameter's largest gradient entry; a parameter passes if every
    entry comes within `tolerance` at some step. Entries whose stencil crosses a kink at every step are set aside.
    Everything is evaluated in double precision.

    >>> report = check_gradient(lambda p: p["a"] ** 2 + 3 * p["b"], {"a": 2.0, "b": 1.0}, {"a": 4.0, "b": -3.0})
    >>> report.passed, report.failed
    (False, ('b',))
    >>> report["b"].fault
    'the supplied gradient has the wrong sign'
    """
    with jax.enable_x64(True):
        parameters = _in_double(parameters)
        table = difference_table(function, parameters, steps=tuple(steps), entries=entries, key=key)
        if gradient is None:
            gradient = eqx.filter_grad(function)(parameters)
        elif callable(gradient) and not isinstance(gradient, eqx.Module):
            gradient = gradient(parameters)
    supplied = dict(zip(*leaf_names(gradient), strict=True))
    checks = tuple(_check(name, supplied.get(name), table, tolerance) for name in table.names)
    return GradientReport(checks, tuple(table.steps), tolerance)


def check_layer(
    forward: Callable[[Any, Any], tuple[Any, Any]],
    backward: Callable[[Any, Any], tuple[Any, Any]],
    h: Any,
    parameters: PyTree,
    *,
    key: PRNGKeyArray,
    tolerance: float = 1e-6,
    entries: int | None = 30,
) -> GradientReport:
    """Check a layer: forward(h, θ) → (output, cache) and backward(δ, cache) → (adjoint of h, gradient of θ).

    The layer is closed with a random cotangent u, f(h, θ) = ⟨u, output⟩, whose gradient backward(u, cache) must be.
    The report calls the adjoint of h "input" and the parameters by their names in θ.

    >>> from leadline.differentiation import affine_pair
    >>> theta = {"weight": jnp.ones((3, 2)), "bias": jnp.zeros(3)}
    >>> pair = affine_pair()
    >>> check_layer(pair.forward, pair.backward, jnp.ones((4, 2)), theta, key=jax.random.key(0)).passed
    True
    """
    key_cotangent, key_entries = jax.random.split(key)
    with jax.enable_x64(True):
        h, parameters = _in_double((h, parameters))
        output, cache = forward(h, parameters)
        cotangent = jax.random.normal(key_cotangent, np.shape(output), float)
        of_input, of_parameters = backward(cotangent, cache)
    closed = _Closed(forward, cotangent)
    return check_gradient(
        closed,
        {"input": h, "parameters": parameters},
        {"input": of_input, "parameters": of_parameters},
        tolerance=tolerance,
        entries=entries,
        key=key_entries,
    )


class _Closed(eqx.Module):
    """f = ⟨u, forward(h, θ)⟩; a module, so that the cotangent is an argument of what is compiled and not a constant."""

    forward: Callable[[Any, Any], tuple[Any, Any]]
    cotangent: Any

    def __call__(self, both: dict[str, Any]) -> Any:
        return (self.cotangent * self.forward(both["input"], both["parameters"])[0]).sum()


def _in_double(tree: PyTree) -> PyTree:
    def convert(leaf: Any) -> Any:
        if isinstance(leaf, float) or eqx.is_inexact_array_like(leaf):
            return jnp.asarray(leaf, jnp.complex128 if np.iscomplexobj(leaf) else jnp.float64)
        return leaf

    return jax.tree.map(convert, tree)


def _check(name: str, supplied: Any, table: DifferenceTable, tolerance: float) -> ParameterCheck:
    """Judge one parameter."""
    places, shape, steps = table.places[name], table.shapes[name], table.steps
    numeric = table.central[name]  # (entries, steps)
    given, fault = _supplied_entries(supplied, places, shape)
    # Differences do not resolve a gradient below about ε^(2/3) times the function, so none is judged by less.
    floor = np.finfo(float).eps ** (2 / 3) * table.magnitude / tolerance
    agreed = np.median(numeric, axis=1)  # amid steps too large and too small
    scale = max(float(np.abs(agreed).max()), float(np.nan_to_num(np.abs(given)).max()), floor)
    kinked = _kinked(table, name, tolerance, floor)
    error = np.abs(numeric - given[:, None]) / scale
    error = np.where(kinked, -np.inf, np.where(np.isfinite(error), error, np.inf))
    curve = error.max(axis=0)
    curve = np.where(np.isneginf(curve), np.nan, curve)
    best = 0 if np.isnan(curve).all() else int(np.nanargmin(curve))
    aside = kinked.all(axis=1)
    judged = np.where(kinked, np.inf, error)
    least = np.where(aside, 0.0, judged.min(axis=1))
    worst = int(np.argmax(least))
    step = int(np.argmin(np.abs(numeric[worst] - np.median(numeric[worst]))))  # amid those that agree
    exact = table.complex_step[name]
    passed = not fault and bool(least[worst] <= tolerance)
    if not passed and not fault:
        fault = _diagnosis(given[~aside], agreed[~aside], supplied, places[~aside], scale, tolerance)
    return ParameterCheck(
        name,
        shape,
        len(places),
        passed,
        float(least[worst]),
        None if exact is None else float(np.max(np.abs(exact - given)[~aside] / scale, initial=0.0)),
        float(steps[best]),
        tuple(int(i) for i in np.unravel_index(places[worst], shape)),
        float(given[worst]),
        float(numeric[worst, step]),
        float(steps[step]),
        int(kinked.any(axis=1).sum()),
        int(aside.sum()),
        fault,
        tuple(curve.tolist()),
    )


def _supplied_entries(supplied: Any, places: np.ndarray, shape: tuple[int, ...]) -> tuple[np.ndarray, str]:
    """The supplied gradient at the measured places, or zeros and what is wrong with it."""
    if supplied is None:
        return np.zeros(len(places)), "no gradient was supplied for it"
    array = np.asarray(supplied, float)
    if array.shape != shape:
        turned = ", which is its transpose's" if array.shape == shape[::-1] else ""
        fault = f"the supplied gradient has shape {array.shape}{turned}, the parameter {shape}"
        return np.zeros(len(places)), fault
    fault = "" if np.isfinite(array).all() else "the supplied gradient is not finite"
    return array.ravel()[places], fault


def _kinked(table: DifferenceTable, name: str, tolerance: float, floor: float) -> np.ndarray:
    """Which stencils cross a kink: (entries, steps).

    The one-sided differences of a smooth function differ by D(h) = h f'' + O(h³), which falls with h; across a kink
    they differ by its jump. So at each step D is compared with D at the next smaller one, scaled by the ratio of steps.
    """
    gap, steps = table.one_sided[name], table.steps
    scale = max(float(np.abs(np.median(table.central[name], axis=1)).max()), floor)
    noise = 8 * np.finfo(float).eps * table.magnitude / steps
    flags = np.zeros(gap.shape, bool)
    for j in range(len(steps) - 1):
        ratio = steps[j] / steps[j + 1]
        residual = np.abs(gap[:, j] - ratio * gap[:, j + 1])
        flags[:, j] = residual > 10 * tolerance * scale + 0.1 * np.abs(gap[:, j]) + noise[j] + ratio * noise[j + 1]
    if len(steps) > 1:
        flags[:, -1] = flags[:, -2]
    return flags


def _diagnosis(
    given: np.ndarray, numeric: np.ndarray, supplied: Any, places: np.ndarray, scale: float, tolerance: float
) -> str:
    """What the supplied gradient has done wrong, if it is one of the usual mistakes."""
    near = 100 * tolerance * scale
    array = np.asarray(supplied, float)
    if not given.any():
        return "the supplied gradient is zero"
    if np.allclose(given, -numeric, rtol=0, atol=near):
        return "the supplied gradient has the wrong sign"
    factor = float(given @ numeric / (numeric @ numeric)) if numeric.any() else 0.0
    if factor and np.allclose(given, factor * numeric, rtol=0, atol=near * abs(factor)):
        return f"the supplied gradient is {factor:.3g} times the measured one"
    square = array.ndim == 2 and array.shape[0] == array.shape[1]
    if square and np.allclose(array.T.ravel()[places], numeric, rtol=0, atol=near):
        return "the supplied gradient is the transpose of the measured one"
    return ""
