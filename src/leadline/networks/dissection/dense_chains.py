"""A chain of dense layers with entrywise functions between, and the changes of its weights that change nothing."""

import math
from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from .chain import Chain, ChainStep
from .elementwise import ScalarFunction


class DenseChain(eqx.Module):
    """f(x) = W_L φ(... φ(W_1 x + b_1) ...) + b_L on flattened inputs, W and b as they act, all scales included.

    `functions[l]` are the entrywise functions between layers l and l + 1, in order; none is the identity.
    """

    weights: list[Float[Array | np.ndarray, "_ _"]]  # (out, in) each
    biases: list[Float[Array | np.ndarray, " _"]]
    functions: tuple[tuple[ScalarFunction, ...], ...] = eqx.field(static=True)

    @property
    def widths(self) -> tuple[int, ...]:
        """The numbers of hidden units."""
        return tuple(len(b) for b in self.biases[:-1])

    def __call__(self, x: Float[Array | np.ndarray, "n d"]) -> Float[Array, "n k"]:
        for weight, bias, functions in zip(self.weights, self.biases, (*self.functions, ()), strict=True):
            x = x @ weight.T + bias
            for function in functions:
                x = function(x)
        return jnp.asarray(x)

    def reorder(self, orders: Sequence[Int[np.ndarray, " _"]]) -> "DenseChain":
        """Hidden units in another order: unit i of layer l is the old unit orders[l][i]. The function stays."""
        into = [np.asarray(o) for o in orders] + [np.arange(len(self.biases[-1]))]
        out = [np.arange(self.weights[0].shape[1]), *into[:-1]]
        return DenseChain(
            [w[i][:, o] for w, i, o in zip(self.weights, into, out, strict=True)],
            [b[i] for b, i in zip(self.biases, into, strict=True)],
            self.functions,
        )

    def rescale(self, factors: Sequence[Float[np.ndarray, " _"]]) -> "DenseChain":
        """W_l ↦ D_l W_l D_{l-1}⁻¹, b_l ↦ D_l b_l, D_l = diag(factors[l]) on hidden layers.

        The function stays where φ(at) = aφ(t) for the factors a: for a > 0 if φ is positively homogeneous, for
        a = ±1 if φ is odd.
        """
        rows = [np.asarray(f) for f in factors] + [np.ones(len(self.biases[-1]))]
        columns = [np.ones(self.weights[0].shape[1]), *rows[:-1]]
        kind = self.weights[0].dtype
        return DenseChain(
            [
                (r[:, None] * np.asarray(w, float) / c).astype(kind)
                for w, r, c in zip(self.weights, rows, columns, strict=True)
            ],
            [(r * np.asarray(b, float)).astype(kind) for b, r in zip(self.biases, rows, strict=True)],
            self.functions,
        )

    def rounding(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n k"]:
        """A bound on the rounding error of f(x), number by number: |fl(W h) - W h| ≤ γ |W||h|, passed on (Higham 2002).

        γ = (n + 2) eps/2 for sums of n terms, and 4 eps for a value of φ; infinite if φ has no largest slope.
        """
        eps = float(np.finfo(self.weights[0].dtype).eps)
        value = np.asarray(x, float)
        error = np.zeros_like(value)
        for weight, bias, functions in zip(self.weights, self.biases, (*self.functions, ()), strict=True):
            w, b = np.asarray(weight, float), np.asarray(bias, float)
            size = np.abs(value) @ np.abs(w).T + np.abs(b)
            error = error @ np.abs(w).T + (w.shape[1] + 2) * eps / 2 * (size + error @ np.abs(w).T)
            value = value @ w.T + b
            for function in functions:
                value = np.asarray(function(jnp.asarray(value, weight.dtype)), float)
                error = function.lipschitz * error + 4 * eps * np.abs(value)
        return error

    def copies(self) -> float:
        """log₁₀ of the number of different parameters that reordering makes: Σ_l log₁₀(N_l!/Π m!), m equal units each.

        >>> from leadline.networks.dissection import dissect
        >>> f = lambda p, x: jnp.tanh(x @ p["in"]) @ p["out"]
        >>> p = {"in": jnp.arange(6.0).reshape(2, 3), "out": jnp.ones((3, 1))}
        >>> round(10 ** read_dense_chain(dissect(f, p, jnp.ones((4, 2))).chain).copies())
        6
        """
        total = 0.0
        for level in range(len(self.biases) - 1):
            unit = np.column_stack([self.weights[level], self.biases[level], np.asarray(self.weights[level + 1]).T])
            _, alike = np.unique(unit, axis=0, return_counts=True)
            total += math.lgamma(len(unit) + 1) - sum(math.lgamma(m + 1) for m in alike)
        return total / math.log(10)

    def invariants(self) -> Float[np.ndarray, " hidden"]:
        """‖W_{l+1}‖² - ‖W_l‖² - ‖b_l‖² of hidden layers, kept by gradient flow if φ is positively homogeneous.

        Du, Hu and Lee 2018; in the weights as they act, which are those that are trained if no scale is applied.
        """
        square = [float(np.sum(np.asarray(w, float) ** 2)) for w in self.weights]
        shift = [float(np.sum(np.asarray(b, float) ** 2)) for b in self.biases]
        return np.array([b - a - s for a, b, s in zip(square[:-1], square[1:], shift[:-1], strict=True)])

    def unit_balance(self, gradient: "DenseChain") -> tuple[Float[np.ndarray, " units"], Float[np.ndarray, " units"]]:
        """⟨∂L/∂w_j, w_j⟩ + ∂L/∂b_j b_j and ⟨∂L/∂v_j, v_j⟩ of all hidden units, w_j into and v_j out of unit j.

        Equal for positively homogeneous φ, as the loss does not change along the unit's rescaling.
        """
        pairs = [
            np.asarray(g, float) * np.asarray(w, float) for g, w in zip(gradient.weights, self.weights, strict=True)
        ]
        shifts = [
            np.asarray(g, float) * np.asarray(b, float) for g, b in zip(gradient.biases, self.biases, strict=True)
        ]
        into = [p.sum(1) + s for p, s in zip(pairs[:-1], shifts[:-1], strict=True)]
        return np.concatenate([*into, []]), np.concatenate([*(p.sum(0) for p in pairs[1:]), []])


def read_dense_chain(chain: Chain) -> DenseChain:
    """The dense layers of a chain; ValueError says which step is none.

    >>> import jax
    >>> from leadline.networks.dissection import dissect
    >>> f = lambda p, x: jax.nn.relu(x @ p["in"]) @ p["out"]
    >>> p = {"in": jnp.ones((2, 3)), "out": jnp.ones((3, 1))}
    >>> dense = read_dense_chain(dissect(f, p, jnp.ones((4, 2))).chain)
    >>> dense.widths, dense(jnp.ones((1, 2))).tolist()
    ((3,), [[6.0]])
    """
    weights, biases, functions = [], [], []
    for step in chain:
        if step.kind == "affine" and step.weight is not None:
            weights.append(jnp.asarray(step.weight))
            biases.append(
                jnp.zeros(len(step.weight), weights[-1].dtype) if step.bias is None else jnp.asarray(step.bias)
            )
            functions.append([])
        elif step.kind == "activation" and weights:
            functions[-1].append(step.function)
        elif not (step.kind == "reshape" and (not weights or _keeps_order(step))):
            raise ValueError(
                f"The chain has a step of kind '{step.kind}' that is no dense layer; give dense layers only."
            )
        elif not weights and not _keeps_order(step):
            raise ValueError("The chain moves its inputs before the first layer; give dense layers only.")
    if not weights or functions[-1]:
        raise ValueError("The chain does not end with a dense layer; give one whose last step is dense.")
    return DenseChain(weights, biases, tuple(tuple(f) for f in functions[:-1]))


def _keeps_order(step: ChainStep) -> bool:
    numbers = jnp.arange(math.prod(step.in_shape), dtype=step.dtype or jnp.float32).reshape(step.in_shape)
    moved = np.asarray(step(numbers)).ravel()
    return moved.shape == (numbers.size,) and bool((moved == np.asarray(numbers).ravel()).all())


def is_homogeneous(functions: Sequence[ScalarFunction]) -> bool:
    """Whether φ(at) = aφ(t) for a > 0, to rounding, on a grid: relu, leaky relu, absolute value, identity.

    >>> import jax
    >>> from leadline.networks.dissection.elementwise import scalar_function
    >>> [is_homogeneous([scalar_function(f)]) for f in (jax.nn.relu, jnp.abs, jnp.tanh)]
    [True, True, False]
    """
    grid = jnp.asarray(np.linspace(-3, 3, 61))
    low, high = (_apply(functions, a * grid) / a for a in (0.25, 4.0))
    return bool(np.allclose(low, high, rtol=1e-5, atol=1e-6))


def is_odd(functions: Sequence[ScalarFunction]) -> bool:
    """Whether φ(-t) = -φ(t), to rounding, on a grid: tanh, identity, sine."""
    grid = jnp.asarray(np.linspace(0, 4, 81))
    return bool(np.allclose(_apply(functions, -grid), -_apply(functions, grid), rtol=1e-5, atol=1e-6))


def _apply(functions: Sequence[ScalarFunction], values: Array) -> np.ndarray:
    for function in functions:
        values = function(values)
    return np.asarray(values, float)
