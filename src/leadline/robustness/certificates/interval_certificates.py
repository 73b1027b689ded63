"""Certificates by interval bounds: classes that no change of the inputs within a box can change."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PyTree

from leadline._checks import require_numbers

from ..attacks.gradient_attacks import Budget, Inputs, Labels, Scores
from ..input_boxes import EVERYWHERE, Box
from .interval_arithmetic import Interval, centre_radius, growth, high_of, low_of
from .interval_bounds import Line, Lines, Slot, evaluate, look_up, written_out

MOVES = frozenset(
    {"reshape", "transpose", "broadcast_in_dim", "squeeze", "expand_dims", "rev", "copy", "convert_element_type"}
)
PRODUCTS = frozenset({"dot_general", "conv_general_dilated"})


def margin_bounds(
    apply: Scores, params: PyTree, x: Inputs, y: Labels, eps: Budget, box: Box = EVERYWHERE
) -> Float[Array, "n k"]:
    """`interval_margins` without its own compilation, to be differentiated or compiled with something else."""
    dtype = jnp.result_type(*jax.tree.leaves(params))
    x, eps = jnp.asarray(x, dtype), jnp.broadcast_to(jnp.asarray(eps, dtype), (len(x),))
    leaves, structure = jax.tree.flatten(params)

    def one_example(leaves: list[Array], one: Array) -> Array:
        return apply(jax.tree.unflatten(structure, leaves), one[None])[0]

    program = written_out(jax.make_jaxpr(one_example)(leaves, jax.ShapeDtypeStruct(x.shape[1:], dtype)))
    (output,) = program.outputs
    frontier, tail = _last_affine(program)
    wanted = output if frontier is None else frontier
    head = Lines(_needed(program, wanted), program.inputs, (wanted,))
    constants = _constants(program, leaves, tail)

    def one(centre: Array, label: Array, radius: Array) -> Array:
        low, high = box.clip(centre - radius), box.clip(centre + radius)
        env = evaluate(head, [*leaves, Interval(low, high)])
        value = look_up(env, wanted)
        if frontier is None:
            bounds = low_of(value)[label] - high_of(value)
        else:
            bounds = _differences(lambda h, slot=frontier: _follow(tail, {**constants, slot: h}, output), value, label)
        return bounds.at[label].set(jnp.inf)

    return jax.vmap(one)(x, jnp.asarray(y), eps)


@eqx.filter_jit
def _margins(apply: Scores, params: PyTree, x: Array, y: Array, eps: Array, box: Box) -> Array:
    return margin_bounds(apply, params, x, y, eps, box)


def interval_margins(
    apply: Scores, params: PyTree, x: Inputs, y: Labels, eps: Budget, *, box: Box = EVERYWHERE
) -> Float[Array, "n k"]:
    """Sound lower bounds of f_y - f_k over the box |x' - x| ≤ eps, one row per input; +inf for k = y.

    Boxes are propagated through apply(params, batch) by `interval_outputs`; where it ends in an affine layer, this one
    acts on score differences, so that (w_y - w_k)·h is bounded and not each score alone (Gowal et al. 2018): exact for
    linear models. x' also stays in `box`. `eps` may differ from row to row.

    >>> identity = lambda w, x: x @ w
    >>> bounds = interval_margins(identity, jnp.eye(2), jnp.array([[1.0, 0.0]]), jnp.array([0]), 0.25)
    >>> bounds.round(4).tolist()
    [[inf, 0.5]]
    """
    require_numbers("interval_margins", params=params, x=x)
    _check(x, y, eps)
    dtype = jnp.result_type(*jax.tree.leaves(params))
    radii = np.broadcast_to(np.asarray(eps, dtype), np.shape(y))
    limits = Box(float(box.low), float(box.high))
    return _margins(apply, params, jnp.asarray(x, dtype), jnp.asarray(y), jnp.asarray(radii), limits)


def certified(
    apply: Scores, params: PyTree, x: Inputs, y: Labels, eps: Budget, *, box: Box = EVERYWHERE
) -> Bool[Array, " n"]:
    """Whether interval bounds exclude that any |x' - x| ≤ eps (in every pixel) is classified otherwise than as y.

    >>> certified(lambda w, x: x @ w, jnp.eye(2), jnp.array([[1.0, 0.0]] * 2), jnp.array([0, 0]), jnp.array([0.4, 0.6]))
    Array([ True, False], dtype=bool)
    """
    return jnp.all(interval_margins(apply, params, x, y, eps, box=box) > 0, axis=1)


def interval_radii(
    apply: Scores,
    params: PyTree,
    x: Inputs,
    y: Labels,
    *,
    largest: float = 1.0,
    halvings: int = 20,
    box: Box = EVERYWHERE,
) -> Float[np.ndarray, " n"]:
    """The largest radius (in the maximum norm) certified for each input, by bisection between 0 and `largest`.

    Bounds grow with the box, so that every radius below a certified one is certified. 0 for wrong predictions.

    >>> radius = interval_radii(lambda w, x: x @ w, jnp.eye(2), jnp.array([[1.0, 0.0]]), jnp.array([0]))
    >>> float(radius[0].round(4))
    0.5
    """
    low, high = np.zeros(len(x)), np.full(len(x), float(largest))
    for _ in range(halvings):  # one compiled program
        middle = 0.5 * (low + high)
        good = np.asarray(certified(apply, params, x, y, middle, box=box))
        low, high = np.where(good, middle, low), np.where(good, high, middle)
    return low


def _check(x: Any, y: Any, eps: Any) -> None:
    if np.shape(y) != np.shape(x)[:1]:
        raise ValueError(f"Got {np.shape(x)[0]} inputs and labels of shape {np.shape(y)}; give one label per input.")
    if np.any(np.asarray(eps) < 0):
        raise ValueError(f"The radius eps is {np.min(np.asarray(eps))}; give one that is not negative.")


def _certain(program: Lines) -> set[Slot]:
    """The slots that do not depend on the last input, which is the uncertain one."""
    certain = set(program.inputs[:-1])
    for line in program.lines:
        if all(not isinstance(a, Slot) or a in certain for a in line.inputs):
            certain.update(line.outputs)
    return certain


def _last_affine(program: Lines) -> tuple[Slot | None, tuple[Line, ...]]:
    """What enters the last matrix product or convolution if only moves, sums and scalings follow, and those lines."""
    certain, producer = _certain(program), program.producer()
    here, tail = program.outputs[0], []
    while isinstance(here, Slot) and here in producer:
        line = producer[here]
        varying = [a for a in line.inputs if isinstance(a, Slot) and a not in certain]
        affine = line.name in MOVES | PRODUCTS | {"add", "sub", "mul", "neg", "add_any"}
        affine |= line.name == "div" and varying == [line.inputs[0]]
        if not affine or len(varying) != 1 or np.dtype(varying[0].dtype).kind != "f":
            return None, ()
        tail.append(line)
        here = varying[0]
        if line.name in PRODUCTS:
            return here, tuple(tail[::-1])
    return None, ()


def _needed(program: Lines, wanted: Any) -> tuple[Line, ...]:
    missing, kept = {wanted}, []
    for line in reversed(program.lines):
        if missing.intersection(line.outputs):
            kept.append(line)
            missing.update(a for a in line.inputs if isinstance(a, Slot))
    return tuple(kept[::-1])


def _constants(program: Lines, leaves: list[Array], tail: tuple[Line, ...]) -> dict[Slot, Any]:
    """The values that the last affine map takes and that do not depend on the input."""
    certain = _certain(program)
    env: dict[Slot, Any] = dict(zip(program.inputs, leaves, strict=False))
    wanted = {a for line in tail for a in line.inputs if isinstance(a, Slot) and a in certain}
    lines = {id(line): line for slot in wanted for line in _needed(program, slot)}
    for line in program.lines:
        if id(line) in lines:
            env.update(zip(line.outputs, line.run(*(look_up(env, a) for a in line.inputs)), strict=True))
    return env


def _follow(tail: tuple[Line, ...], env: dict[Slot, Any], output: Slot) -> Array:
    for line in tail:
        env.update(zip(line.outputs, line.run(*(look_up(env, a) for a in line.inputs)), strict=True))
    return env[output]


def _differences(affine: Callable[[Array], Array], value: Any, label: Array) -> Array:
    """Lower bounds of the differences of an affine map's outputs over a box."""
    centre, radius = centre_radius(value)
    zero = jnp.zeros_like(centre)
    offset = affine(zero)
    weight = jax.jacrev(affine)(zero).reshape(len(offset), -1)
    difference = weight[label] - weight
    centre, radius = centre.ravel(), jnp.zeros_like(centre).ravel() if radius is None else radius.ravel()
    share = growth(centre.size + 8, centre)
    middle = difference @ centre + (offset[label] - offset)
    reach = jnp.abs(difference) @ (radius + share * (radius + jnp.abs(centre)))
    slack = share * (jnp.abs(offset[label]) + jnp.abs(offset) + jnp.abs(middle) + reach)
    found = middle - reach - slack
    return jnp.where(jnp.isnan(found), -jnp.inf, found)
