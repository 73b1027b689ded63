"""Training of infinitely wide networks on any loss: the function-space flow, integrated with Diffrax."""

from collections.abc import Callable
from typing import Any, Literal

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .matrices import checked_kernel, checked_shape, decompose
from .training import Matrix, Outputs, _kernel_function

Loss = Callable[[Array, Any], Array]


def softmax_cross_entropy(outputs: Float[Array, "n classes"], targets: Float[Array, "n classes"]) -> Float[Array, ""]:
    """-Σ_i Σ_c p_ic log softmax(f_i)_c, for targets p that are probabilities (one-hot labels among them).

    >>> round(float(softmax_cross_entropy(jnp.zeros((3, 2)), jnp.eye(2)[jnp.array([0, 1, 1])])), 6)  # 3 log 2
    2.079442
    """
    return -jnp.sum(targets * jax.nn.log_softmax(outputs))


class FunctionFlow(eqx.Module):
    """Outputs along the flow: f(x, t) = f₀(x) - Θ(x, X) c(t) with c(t) = ∫₀ᵗ ∇_f L ds, the same c for every point x.

    `outputs` (times, n, ...) are those at the training points, `impulses` c(t), of the same shape.
    """

    times: Float[Array, " times"]
    outputs: Float[Array, "times n *outputs"]
    impulses: Float[Array, "times n *outputs"]
    steps: int

    def at(self, ntk: Matrix, start: Outputs | None = None) -> Float[Array, "times m *outputs"]:
        """The outputs at m other points, from Θ(x, X) and the outputs f₀(x) there at time 0 (0 by default)."""
        n, shape = self.outputs.shape[1], self.outputs.shape[2:]
        ntk = jnp.asarray(checked_shape(ntk, "ntk at the points", None, n), self.outputs.dtype)
        moved = -jnp.einsum("mn,tn...->tm...", ntk, self.impulses)
        if start is None:
            return moved
        return jnp.asarray(checked_shape(start, "start", len(ntk), *shape), moved.dtype) + moved


def function_flow(
    ntk: Matrix,
    targets: Any,
    times: Float[Array | np.ndarray, " times"],
    *,
    loss: Literal["softmax"] | Loss = "softmax",
    start: Outputs | None = None,
    solver: diffrax.AbstractSolver | None = None,
    rtol: float = 1e-8,
    atol: float = 1e-10,
    max_steps: int = 100_000,
) -> FunctionFlow:
    """df/dt = -Θ ∇_f L(f, targets) on the training points, at the given times, by an adaptive Runge-Kutta method.

    `loss` maps outputs (n, ...) and `targets` to a number (a sum over examples: then t is that of the closed form of
    `WideTraining`); "softmax" takes class numbers (n,) or probabilities (n, classes). `start` is f₀(X), by default 0 in
    the shape of the targets. Explicit steps are of size about 3/λ_max: for a stiff kernel and few points pass
    `solver=diffrax.Kvaerno5()`. Cross-entropy has no limit on separable data: times are finite.

    >>> flow = function_flow(jnp.eye(2), jnp.array([0, 1]), jnp.array([0.0, 1.0]))
    >>> flow.outputs.shape, flow.outputs[1].round(3).tolist()
    ((2, 2, 2), [[0.396, -0.396], [-0.396, 0.396]])
    """
    ntk = checked_kernel(ntk, "ntk")
    decompose(ntk, "ntk")
    n, dtype = len(ntk), ntk.dtype
    if loss == "softmax":
        loss, targets = softmax_cross_entropy, _probabilities(targets, dtype)
    targets = jax.tree.map(jnp.asarray, targets)
    if start is None:
        if not (isinstance(targets, Array) and jnp.issubdtype(targets.dtype, jnp.floating)):
            raise ValueError("start is needed where the targets do not have the shape of the outputs; pass f₀(X).")
        start = jnp.zeros(targets.shape, dtype)
    start = jnp.asarray(checked_shape(start, "start", n), dtype)
    times = np.asarray(times, float)
    if times.ndim != 1 or not times.size or not np.isfinite(times).all() or times[0] < 0 or (np.diff(times) <= 0).any():
        raise ValueError("times must be finite, not negative and increasing; give for example jnp.linspace(0, 10, 11).")
    solver = diffrax.Tsit5() if solver is None else solver
    saved = jnp.asarray(np.concatenate([[0.0], times[times > 0]]), dtype)
    outputs, impulses, steps, done = _integrate(loss, ntk, targets, start, saved, solver, rtol, atol, max_steps)
    if not bool(done):
        raise ValueError(
            f"The flow needs more than max_steps = {max_steps} steps to reach t = {times[-1]:g}; raise max_steps, "
            "shorten the time, or pass solver=diffrax.Kvaerno5() for a stiff kernel."
        )
    first = 0 if times[0] == 0 else 1
    return FunctionFlow(saved[first:], outputs[first:], impulses[first:], int(steps))


def train_wide_on_loss(
    network: Any,
    x_train: Float[Array | np.ndarray, "n ..."],
    targets: Any,
    x_test: Float[Array | np.ndarray, "m ..."],
    times: Float[Array | np.ndarray, " times"],
    **options: Any,
) -> tuple[FunctionFlow, Float[Array, "times m *outputs"]]:
    """The flow of an infinitely wide network on the training points, and its outputs at x_test, both from f₀ = 0.

    The options are those of `function_flow` (except `start`).

    >>> from leadline.infinite_width import dense_stack
    >>> x, labels = jnp.array([[1.0, 0.0], [0.0, 1.0]]), jnp.array([0, 1])
    >>> flow, seen = train_wide_on_loss(dense_stack(1, "relu"), x, labels, jnp.array([[2.0, 1.0]]), jnp.array([3.0]))
    >>> seen[-1].argmax(axis=-1).tolist()
    [0]
    """
    kernel_fn = _kernel_function(network)
    x_train, x_test = jnp.asarray(x_train), jnp.asarray(x_test)
    flow = function_flow(kernel_fn(x_train, None, get="ntk"), targets, times, **options)
    return flow, flow.at(kernel_fn(x_test, x_train, get="ntk"))


def _probabilities(targets: Any, dtype: Any) -> Array:
    targets = jnp.asarray(targets)
    if targets.ndim == 1 and jnp.issubdtype(targets.dtype, jnp.integer):
        return jax.nn.one_hot(targets, int(targets.max()) + 1, dtype=dtype)
    if targets.ndim != 2:
        raise ValueError(
            f"targets have the shape {targets.shape}; give class numbers (n,) or probabilities (n, classes)."
        )
    return targets.astype(dtype)


@eqx.filter_jit
def _integrate(loss, ntk, targets, start, times, solver, rtol, atol, max_steps):
    slope = jax.grad(loss)

    def velocity(t, state, args):
        ntk, targets = args
        outputs, _ = state
        g = slope(outputs, targets)
        return -jnp.tensordot(ntk, g, 1), g

    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(velocity),
        solver,
        times[0],
        times[-1],
        None,
        (start, jnp.zeros_like(start)),
        (ntk, targets),
        saveat=diffrax.SaveAt(ts=times),
        stepsize_controller=diffrax.PIDController(rtol=rtol, atol=atol),
        max_steps=max_steps,
        throw=False,
    )
    assert solution.ys is not None  # SaveAt asks for them
    outputs, impulses = solution.ys
    return outputs, impulses, solution.stats["num_steps"], solution.result == diffrax.RESULTS.successful
