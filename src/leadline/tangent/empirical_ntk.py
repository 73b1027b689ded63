"""The empirical tangent kernel K = J Jᵀ of any function f(params, x), tile by tile within a memory budget."""

import math
from typing import Any, Literal, NamedTuple, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from leadline._messages import unknown
from leadline.differentiation.programs.canonical_convolutions import with_fast_steps
from leadline.differentiation.programs.layer_structure import Structure, layer_structure
from leadline.differentiation.programs.traced_program import Program, traced_program
from leadline.frameworks.network import Apply, ExampleFunction

from .assembly.cost_model import Method, Routes, Sizes, choose_routes
from .assembly.tiles import Assembly
from .functions import checked_function

Outputs = Literal["full", "trace"]

BUDGET = 2.0**28


class Settings(NamedTuple):
    """How a kernel is asked for; `split` asks for one matrix for each leaf instead of their sum."""

    budget: float
    method: Method
    outputs: Outputs
    split: bool = False


class Problem(NamedTuple):
    """A kernel that is asked for: f of one example, its parameters, the two batches (None: the same), and how."""

    f: ExampleFunction
    params: PyTree
    x1: Array
    x2: Array | None
    settings: Settings


def empirical_ntk(
    apply: Apply,
    params: PyTree,
    x1: Any,
    x2: Any = None,
    *,
    budget: float = BUDGET,
    method: Method = "auto",
    outputs: Outputs = "full",
) -> Float[Array, "rows columns"]:
    """K[(i, a), (j, b)] = ∂f_a(x1_i)/∂θ · ∂f_b(x2_j)/∂θ, rows in the order example, output; x2 = None stands for x1.

    Layers are found in the network itself: for a dense layer with activations a and back-signals δ the kernel is
    (a aᵀ) ∘ (δ δᵀ), and the Jacobian is never formed; what has no such structure is differentiated explicitly or by
    products, whichever `ntk_plan` says is cheaper (`method` = "structured", "explicit", "products" decides instead).
    Beside the matrix itself at most about `budget` bytes are used. With outputs="trace" the sum over a = b, an n1 x n2
    matrix.

    >>> x = jnp.array([[1.0, 0.0], [1.0, 1.0]])
    >>> empirical_ntk(lambda w, x: x @ w, jnp.ones(2), x).tolist()
    [[1.0, 1.0], [1.0, 2.0]]
    """
    return _matrices(checked_problem(apply, params, x1, x2, checked_settings(budget, method, outputs)))[0]


def layer_ntks(
    apply: Apply,
    params: PyTree,
    x1: Any,
    x2: Any = None,
    *,
    budget: float = BUDGET,
    method: Method = "auto",
    outputs: Outputs = "full",
) -> dict[str, Float[Array, "rows columns"]]:
    """The parts K_l of K = Σ_l K_l, one for every parameter leaf, under the leaf's path.

    >>> apply = lambda p, x: p["a"] * x[:, 0] + p["b"] * x[:, 1]
    >>> parts = layer_ntks(apply, {"a": jnp.ones(()), "b": jnp.ones(())}, jnp.eye(2))
    >>> {path: part.tolist() for path, part in parts.items()}
    {"['a']": [[1.0, 0.0], [0.0, 0.0]], "['b']": [[0.0, 0.0], [0.0, 1.0]]}
    """
    settings = checked_settings(budget, method, outputs)._replace(split=True)
    parts = _matrices(checked_problem(apply, params, x1, x2, settings))
    return dict(zip(leaf_paths(params), parts, strict=True))


def leaf_paths(params: PyTree) -> list[str]:
    """The paths of the parameter leaves in words, in the order of the leaves."""
    return [jax.tree_util.keystr(path) or "params" for path, _ in jax.tree_util.tree_leaves_with_path(params)]


def checked_problem(apply: Apply, params: PyTree, x1: Any, x2: Any, settings: Settings) -> Problem:
    """f of one example and the inputs as arrays; refuses what has no tangent kernel."""
    g, x1, _ = checked_function(apply, params, x1)
    if x2 is not None:
        _, x2, _ = checked_function(apply, params, x2, what="x2")
        if x2.shape[1:] != x1.shape[1:]:
            raise ValueError(
                f"x1 has examples of shape {x1.shape[1:]} and x2 of {x2.shape[1:]}; give both the same shape."
            )
    return Problem(g, params, x1, x2, settings)


def prepare(problem: Problem) -> tuple[Program, Structure, Routes, Sizes]:
    """Trace f at one example, find its layers, and choose the routes."""
    f, params, x1, x2, settings = problem
    leaves = jax.tree.leaves(params)
    program = with_fast_steps(traced_program(f, params, jax.ShapeDtypeStruct(x1.shape[1:], x1.dtype)))
    structure = layer_structure(program)
    if settings.split:
        structure = structure.apart()
    sizes = Sizes(
        x1.shape[0],
        x1.shape[0] if x2 is None else x2.shape[0],
        math.prod(program.out_shape),
        jnp.result_type(*leaves).itemsize,
        settings.budget,
        x2 is None,
        settings.outputs == "trace",
    )
    routes = choose_routes(program, structure, tuple(leaf.size for leaf in leaves), sizes, settings.method)
    return program, structure, routes, sizes


@eqx.filter_jit
def _matrices(problem: Problem) -> tuple[Float[Array, "rows columns"], ...]:
    program, _, routes, sizes = prepare(problem)
    leaves, x1 = jax.tree.leaves(problem.params), problem.x1
    matrix = {leaf: leaf if problem.settings.split else 0 for leaf in range(len(leaves))}
    assembly = Assembly(program, routes, matrix, sizes.trace, sizes.symmetric)
    return assembly.run(leaves, x1, x1 if problem.x2 is None else problem.x2)


def checked_settings(budget: float, method: str, outputs: str) -> Settings:
    """The settings, or a sentence about the one that is wrong."""
    if method not in ("auto", "structured", "explicit", "products"):
        raise ValueError(unknown("method", method, get_args(Method)))
    if outputs not in ("full", "trace"):
        raise ValueError(unknown("outputs", outputs, get_args(Outputs)))
    if not budget > 0:
        raise ValueError(f"The budget is {budget}; give a positive number of bytes.")
    return Settings(float(budget), method, outputs)
