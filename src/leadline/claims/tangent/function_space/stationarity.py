"""Convex in the outputs, not in the parameters; and what a stationary point says when the kernel is singular."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree

from leadline import as_apply, data, networks, tangent
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, exactly
from leadline.presentation import figure
from leadline.training import minimise


@eqx.filter_jit
def _chords(risk, ends, shares, x, y):
    """R on the chord and the chord's height: (segments,) each, for ends (2, segments, ...)."""

    def one(ends, share):
        a, b = jax.tree.map(lambda leaf: leaf[0], ends), jax.tree.map(lambda leaf: leaf[1], ends)
        middle = jax.tree.map(lambda u, v: (1 - share) * u + share * v, a, b)
        return risk(middle, x, y), (1 - share) * risk(a, x, y) + share * risk(b, x, y)

    return jax.vmap(one, in_axes=(1, 0))(ends, shares)


@eqx.filter_jit
def _least_curvature(risk, params, x, y):
    """The least Hessian eigenvalue at each of many parameters."""

    def one(p):
        flat, back = ravel_pytree(p)
        return jax.hessian(lambda w: risk(back(w), x, y))(flat)

    return jax.lax.map(one, params)


@claim(sources=("cam",))
def parameter_loss_nonconvex(
    key,
    width: Int(2, 16) = 4,
    samples: Int(4, 40) = 10,
    spread: Real(0.5, 3.0) = 1.0,
    loss: OneOf("half-squared", "logistic", "huber") = "half-squared",
):
    r"""Convex in outputs, nonconvex in parameters.

    A convex loss is convex in the outputs and on the affine space of the linearised network, f + the span of the
    tangent features, but not as a function of the network's parameters. The network itself need not lie in the span.

    $$\mathcal R \text{ convex on } f_\theta + F_\theta, \; \text{not in } \theta \mapsto \mathcal R(f_\theta)$$

    Assumes: ℓ is convex in its first argument.

    Check: 1000 random chords of the risk of a small tanh network, and Hessians at 40 parameters.
    """
    rng = data.generator(key)
    x, labels = rng.standard_normal((samples, 2)), rng.choice([-1.0, 1.0], samples)
    net = networks.MLP((2, width, 1), "tanh", init="lecun", bias_scale=1.0, key=key)
    apply, start = as_apply(net)
    risk = tangent.OutputRisk(apply, loss, mean=True)
    lin = tangent.linearise(apply, start)
    affine = tangent.OutputRisk(lin, loss, mean=True)
    ends = jax.tree.map(lambda leaf: np.asarray(leaf) + spread * rng.standard_normal((2, 1000, *leaf.shape)), start)
    shares = rng.uniform(0.05, 0.95, 1000)
    beta = jax.tree.map(lambda e, s: e - np.asarray(s), ends, start)
    excess = {}
    for name, (r, points) in {"linearised": (affine, beta), "network": (risk, ends)}.items():
        here, chord = (np.asarray(v) for v in _chords(r, points, shares, x, labels))
        excess[name] = (here - chord) / chord
    count = {name: int(np.sum(e > 1e-12)) for name, e in excess.items()}
    yield exactly(count["linearised"], 0, "chords below the linearised risk, of 1000")
    what = f"chords below the network's risk, of 1000 (worst by {excess['network'].max():.0%})"
    yield at_least(count["network"], 1, what)
    few = jax.tree.map(lambda e: e[0, :40], ends)
    curvature = np.linalg.eigvalsh(np.asarray(_least_curvature(risk, few, x, labels)))[:, 0]
    yield at_most(curvature.min(), 0.0, "least Hessian eigenvalue at 40 parameters", strict=True)
    # f in the span of its tangent features? Yes with a linear last layer, not with another function on top.
    probe = rng.standard_normal((4 * (4 * width + 1), 2))
    squashed = networks.MLP((2, width, 1), "tanh", init="lecun", bias_scale=1.0, last_activation=True, key=key)
    outside = {}
    for name, model in {"linear": net, "squashed": squashed}.items():
        J = np.asarray(networks.parameter_jacobian(*as_apply(model), probe))
        values = np.asarray(jax.vmap(model)(probe))[:, 0]
        U, s, _ = np.linalg.svd(J, full_matrices=False)
        U = U[:, s > 1e-10 * s[0]]
        outside[name] = np.linalg.norm(values - U @ (U.T @ values)) / np.linalg.norm(values)
    yield close(outside["linear"], 0.0, "share of f outside its tangent span, linear last layer", atol=1e-6)
    yield at_least(outside["squashed"], 1e-6, "share of f outside its tangent span, tanh on top", strict=True)
    t = np.linspace(0, 1, 60)
    worst = jax.tree.map(lambda e: e[:, int(np.argmax(excess["network"]))], ends)
    from_start = jax.tree.map(lambda e, s: e - np.asarray(s), worst, start)
    panels = []
    for name, r, ends in (("network", risk, worst), ("linearised network", affine, from_start)):
        values = np.asarray(_along(r, ends, t, x, labels))
        lines, title = {"chord": (t[[0, -1]], values[[0, -1]]), "risk": (t, values)}, f"Risk of the {name}"
        panels.append(figure.curves(f"{title} between two parameters", "share of the way", "mean loss", lines=lines))
    title = f"{count['network']} of 1000 random chords lie below the network's risk, none below the linearised risk"
    yield figure.beside(title, *panels)


@eqx.filter_jit
def _along(risk, ends, shares, x, y):
    """R between two parameters ends[0], ends[1]."""
    return jax.vmap(lambda s: risk(jax.tree.map(lambda e: (1 - s) * e[0] + s * e[1], ends), x, y))(shares)


class WithBias(eqx.Module):
    """A two-layer ReLU network with an output bias; without one the bias is static 0."""

    net: networks.TwoLayer
    bias: jax.Array | None

    def outputs(self, x):
        return self.net(x) + (0.0 if self.bias is None else self.bias)


def _half_squares(model, x, y):
    return 0.5 * jnp.sum((model.outputs(x) - y) ** 2)


@eqx.filter_jit
def _train_all(starts, etas, steps, x, y):
    """Descent from every start with its own step; the ends, and the loss before each step."""
    return eqx.filter_vmap(lambda start, eta: minimise(_half_squares, start, optax.sgd(eta), steps, x, y))(starts, etas)


@eqx.filter_jit
def _kernels(models, x, y):
    """K, the outputs and ‖∇L‖ of every network; the gradient itself, since gᵀKg has only half its digits."""

    def one(model):
        kernel = model.net.tangent_kernel(x) + (0.0 if model.bias is None else 1.0)
        return kernel, model.outputs(x), optax.tree.norm(jax.grad(_half_squares)(model, x, y))

    return eqx.filter_vmap(one)(models)


@claim(sources=("cam",))
def stationarity_and_ntk(
    key, samples: Int(2, 6) = 4, width: Int(2, 12) = 6, seeds: Int(20, 200) = 100, bias: bool = False
):
    r"""Stationary points and the NTK null space.

    Along gradient descent the loss falls and the gradient tends to 0, which says only that the derivative of the loss
    with respect to the outputs lies in the null space of the tangent kernel: where K ≻ 0 that means the global
    minimum, where units have died it need not. The limit depends on the start.

    $$\nabla_\theta L = 0 \iff g^\top K g = 0 \iff K g = 0; \quad K \succ 0 \Rightarrow g = 0$$

    Assumes: orthonormal inputs; step sizes below 1/tr K.

    Check: Small ReLU networks with |y| from 0.5 to 1.5; in the last start no unit is ever active.
    """
    rng = data.generator(key)
    x, y = np.eye(samples), rng.choice([-1.0, 1.0], samples) * rng.uniform(0.5, 1.5, samples)
    weight, head = rng.standard_normal((seeds, width, samples)), rng.standard_normal((seeds, width))
    weight[-1] = -np.abs(weight[-1])
    nets = networks.TwoLayer(jnp.asarray(weight), jnp.asarray(head), "relu")
    starts = WithBias(nets, jnp.zeros(seeds) if bias else None)
    K0, _, _ = _kernels(starts, x, y)
    traces = np.trace(np.asarray(K0), axis1=1, axis2=2)
    etas = 0.3 / np.maximum(traces, 1.0)
    ends, losses = _train_all(starts, jnp.asarray(etas), 30_000, x, y)
    K, f, gradient = (np.asarray(v) for v in _kernels(ends, x, y))
    g, losses = f - y, np.asarray(losses)
    final = 0.5 * np.sum(g**2, axis=1)
    least = np.linalg.eigvalsh(K)[:, 0]
    size = np.trace(K, axis1=1, axis2=2)
    singular = least <= 1e-12 * np.maximum(size, 1.0)
    rest = gradient <= 1e-11  # the others still move, slowly: the statement is about stationary points
    stuck, fitted = rest & (final >= 1e-8), rest & (final < 1e-8)
    pull = np.linalg.norm(np.einsum("sij,sj->si", K, g), axis=1)
    rises = np.diff(losses, axis=1) / losses[:, :1]
    yield at_most(rises.max(), 0.0, "largest rise of the loss in a step, over its start", atol=1e-12)
    pace = np.sqrt(2 * losses[:, 0] / (etas * losses.shape[1]))
    yield at_most(gradient, pace, "‖∇L‖ at the end, against √(2 L₀/kη), by which the least of k gradients must fall")
    yield at_most(2 * least * final, gradient**2, "2 λ_min(K) L, against ‖∇L‖², all runs", rtol=1e-9, atol=1e-13)
    yield exactly((~singular[stuck]).sum(), 0, f"runs with λ_min(K) > 0 among the {stuck.sum()} that are stuck")
    yield at_most(pull[stuck], 1e-6 * np.linalg.norm(g[stuck], axis=1), "‖K g‖ in stuck runs, against 10⁻⁶ ‖g‖")
    free = rest & ~singular
    if free.any():
        yield at_most(final[free], 1e-8, f"final loss in the {free.sum()} runs at rest with λ_min(K) > 0")
    yield exactly(np.linalg.matrix_rank(K[-1], tol=1e-9), int(bias), "rank of K in the network that was born dead")
    silent = 0.5 * np.sum((y - (y.mean() if bias else 0.0)) ** 2)
    yield close(final[-1], silent, "final loss of the dead network, against that of the best constant", rtol=1e-9)
    if fitted.sum() >= 2:
        new = np.asarray(eqx.filter_vmap(lambda m: m.outputs(np.full((1, samples), samples**-0.5)))(ends))[fitted, 0]
        yield at_least(np.ptp(new), 1e-3, "spread of f at a new point over the runs that fit: the limit depends on θ₀")
    drawn = np.maximum(least, 1e-6)  # a logarithmic axis has no 0, which is where the stuck runs are
    title = f"Of {seeds} runs {stuck.sum()} are stuck, all with λ_min(K) = 0; {fitted.sum()} fit"
    dots = {"stuck": (drawn[stuck], final[stuck]), "fitted": (drawn[fitted], np.maximum(final[fitted], 1e-10))}
    axes = "λ_min(K) at the end (0 drawn at 10⁻⁶)", "final loss (from 10⁻¹⁰ up)"
    yield figure.curves(title, *axes, points=dots, log="xy")
