"""How soon gradient descent meets a small gradient where nothing is convex."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, optimisation
from leadline.claims.scenarios.optimisation.small_networks import network_loss
from leadline.evidence import Int, Real, at_most, claim
from leadline.optimisation.bounds.rate_bounds import gd_stationarity_bound, gd_stationarity_steps
from leadline.presentation import figure


@claim(sources=("eth", "sheet"))
def gd_critical_point_rate(key, step_size: Real(0.2, 1.6) = 1.0, hidden: Int(1, 10) = 3, start: Real(-1.3, 1.3) = 0.3):
    r"""Rate to a critical point without convexity.

    Without convexity, at η = 1/L the least gradient seen in T steps obeys $\min \|g\|^2 \le 2L(l_0 -
    l_{\text{low}})/T$, so ‖g‖ ≤ ε is met within $\lceil 2L(l_0 - l_{\text{low}})/\varepsilon^2 \rceil$ steps; for
    other η < 2/L the bound is $l_0 - l_{\text{low}}$ divided by Tη(1 − ηL/2).

    $$\min_{t<T} \|g_t\|^2 \le \frac{l_0 - l_{\text{low}}}{T\, \eta (1 - \eta L/2)}$$

    Assumes: l is L-smooth where the run goes; l is bounded below.

    Check: The parameter `step_size` is ηL. Gradient descent runs on a double well, on x² + 3 sin² x, in Rosenbrock's
    valley in a box, and on a network whose L is measured.
    """
    beyond, well = 4.0 * start / 1.3 + np.sign(start + 1e-9), optimisation.DoubleWell(radius=1.3)
    box = (-1.2, -0.5), (1.2, 1.5)  # where rows of the Hessian of Rosenbrock's function sum to at most
    rough = 2 + 400 * 0.5 + 1200 * 1.2**2 + 400 * 1.2
    runs = {
        "double well": _run(well, [start], well.constants().smoothness, step_size, 20_000, -1.3, 1.3),
        "x² + 3 sin² x": _run(optimisation.SineParabola(), [beyond], 8.0, step_size, 20_000),
        "Rosenbrock": _run(optimisation.Rosenbrock(), [-0.5, 0.5], rough, step_size, 400_000, *box),
        "network": _network_run(data.generator(key), hidden, step_size, 1500),
    }
    points, stays = {}, "every point stays where L was taken"
    for name, (norms, smoothness, gap, eta, inside) in runs.items():
        least, t = np.minimum.accumulate(norms), np.arange(1, len(norms) + 1)
        bound = np.sqrt(gd_stationarity_bound(smoothness, gap, t, step_size=eta))
        yield at_most(least, bound, f"least gradient norm up to each T, {name}", rtol=1e-12).given(inside, stays)
        met = [e for e in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6) if least[-1] <= e]
        if met:
            hits = [np.argmax(least <= e) + 1 for e in met]
            most = [gd_stationarity_steps(smoothness, gap, e, step_size=eta) for e in met]
            yield at_most(hits, np.maximum(most, 1), f"steps to ε = 0.1 … {met[-1]:.0e}, {name}").given(inside, stays)
        clear = least > 1e-9 * bound[0]
        points[name] = (t[clear], least[clear] / bound[0])
    title = "The least gradient norm stays under the bound √(gap/(Tη(1 − ηL/2))) on four non-convex functions"
    lines, y = {"bound, slope −1/2": ([1, 4e5], [1.0, 4e5**-0.5])}, "least ‖g‖ up to T, relative to the bound at T = 1"
    yield figure.curves(title, "T", y, lines=lines, points=points, log="xy")


@eqx.filter_jit
def _descent(objective, start, eta, num_steps):
    points = optimisation.gradient_path(objective.gradient, start, eta, num_steps)
    return points, jax.vmap(objective.gradient)(points)


def _run(objective, start, smoothness, step, most, low=-np.inf, high=np.inf):
    """‖g‖ along a descent until it is 1e-6, (…, L, gap, η, whether the run stayed in the box)."""
    start, eta = jnp.asarray(start, float), step / smoothness
    points, gradients = map(np.asarray, _descent(objective, start, jnp.asarray(eta), most - 1))
    norms = np.linalg.norm(gradients, axis=1)
    count = np.argmax(norms <= 1e-6) + 1 if np.any(norms <= 1e-6) else most
    inside = np.all((points[:count] >= low) & (points[:count] <= high))
    return norms[:count], smoothness, float(objective.gap(start)), eta, bool(inside)


def _network_run(rng, hidden, step, most):
    """a·tanh(wx + b) fitted to 20 points of a sine; L is the largest ‖H‖ seen on the way, ends of steps and middles."""
    x = np.linspace(-2, 2, 20)
    start = dict(zip("abc", rng.normal(size=(3, hidden)), strict=True))
    loss, w = optimisation.flat_objective(network_loss, start, x, np.sin(2 * x))
    norms = eqx.filter_jit(lambda loss, points: jnp.linalg.norm(jax.vmap(loss.hessian)(points), 2, axis=(1, 2)))
    eta = step / (2 * float(norms(loss, w[None])[0]))  # the run may sharpen: start from half
    path, gradients = map(np.asarray, _descent(loss, w, jnp.asarray(eta), most))
    seen = np.concatenate([path[::15], (path[:-1:15] + path[1::15]) / 2])
    smoothness = 1.01 * float(norms(loss, jnp.asarray(seen)).max())
    return np.linalg.norm(gradients[:-1], axis=1), smoothness, float(loss(w)), eta, eta * smoothness < 2
