"""Temperature at work: crossing a barrier, and why batch and step may be scaled together."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import chains, data, networks, optimisation, training
from leadline.chains.wells import critical_points_on
from leadline.claims.scenarios.networks.drawn_networks import drawn
from leadline.claims.scenarios.stochastic.well_grids import BARRIER, SHALLOW, langevin_on_wells, well_losses
from leadline.evidence import Int, Real, at_least, at_most, claim, close, mean, reference
from leadline.presentation import figure


@claim(sources=("penn",))
def barrier_crossing_kramers(key, step_size: Real(0.02, 0.1) = 0.05, coldest: Real(40.0, 60.0) = 60.0):
    r"""Kramers' barrier-crossing time.

    The mean time to cross a barrier ΔE from a well c over a saddle s is $\frac{2\pi}{\sqrt{l''(c)\,|l''(s)|}}\,
    e^{\beta \Delta E}$ in units of η × steps: exponential in b/η. The exact hitting time of the grid kernel tends to
    it from above as β grows.

    $$\mathbb{E}[\eta t] \approx \frac{2\pi}{\sqrt{l''(c)\,|l''(s)|}}\, e^{\beta \Delta E}$$

    Assumes: β → ∞; η → 0.

    Check: From the shallow minimum of the tilted double well to the deep one, by a linear solve at five temperatures.
    """
    ends = critical_points_on(optimisation.DoubleWell(), chains.even_grid(-3.0, 3.0, 301))
    (deep, top, shallow), height = ends.places, ends.losses[1] - ends.losses[2]
    what = "places of the deep well, the barrier and the shallow well, and the barrier's height"
    yield reference([deep, top, shallow, height], [-1.04668, 0.101031, 0.945649, 0.157665], what, digits=6)
    betas = np.linspace(20.0, coldest, 5)
    times = []
    for beta in betas:
        _, kernel, _ = langevin_on_wells(step_size, beta)
        hitting = chains.hitting_times(kernel.chain, kernel.points <= deep)
        times.append(step_size * np.interp(shallow, kernel.points, hitting))
    times = np.array(times)
    rise = (ends.curvatures[2], ends.curvatures[1], height)
    formula = np.array([chains.kramers_time(*rise, b) for b in betas])
    if step_size == 0.05 and coldest == 60.0:
        known = [131.8, 604.1, 2841.0, 13535.0, 64867.0]
        yield reference(times, known, "exact crossing times at β = 20, 30, 40, 50, 60", digits=4)
    ratio = times / formula
    yield at_most(np.diff(np.abs(ratio - 1)), 0.0, "change of |crossing time/formula − 1| from one β to the next")
    yield close(ratio[-1], 1.0, f"crossing time over formula at β = {coldest:g}", atol=0.1)
    growth = np.polyfit(betas, np.log(times), 1)[0]
    yield close(growth, height, "slope of the log time in β, against ΔE", rtol=0.05)
    line = np.linspace(20.0, coldest, 50)
    title = f"Escape takes {times[0]:.4g} to {times[-1]:.4g} units of time: slope {growth:.4f} in β, ΔE = {height:.4f}"
    lines = {"Kramers": (line, [chains.kramers_time(*rise, b) for b in line])}
    points = {"exact, grid kernel": (betas, times)}
    yield figure.curves(title, "β", "mean crossing time, η × steps", lines=lines, points=points, log="y")


def _digit_mistakes(factors: np.ndarray, step_size: float, batch: int, epochs: int, key) -> np.ndarray:
    """Test mistakes (factors, points) of a small network trained with steps factor · η on batches of factor · b.

    One program for all factors: gradients of batches of b are accumulated over `factor` of them (Optax's MultiSteps).
    """
    split, rng = data.digits_split(), data.generator(key)
    network = drawn(rng, networks.MLP, (64, 32, 10), "relu", bias_scale=0.0)
    micro = len(split.train_labels) // batch
    order = np.concatenate([rng.permutation(len(split.train_labels))[: micro * batch] for _ in range(epochs)])
    order = jnp.asarray(order.reshape(-1, batch))
    images, labels = jnp.asarray(split.train_images), jnp.asarray(split.train_labels)
    trained = _train_all(network, images, labels, order, jnp.asarray(factors, jnp.int32), jnp.asarray(step_size))
    scores = _scores(trained, split.test_images)
    return np.argmax(np.nan_to_num(scores, nan=-1.0), axis=-1) != split.test_labels


@eqx.filter_jit
def _train_all(network, images, labels, order, factors, step):
    def losses(net, rows, *_):
        return optax.softmax_cross_entropy_with_integer_labels(jax.vmap(net)(images[rows]), labels[rows]), None

    def train(factor):
        rule = optax.MultiSteps(optax.sgd(step * factor), every_k_schedule=lambda _: factor)
        return training.scan_steps(losses, network, rule.gradient_transformation(), order).model

    return jax.vmap(train)(factors)


def _scores(trained, images) -> np.ndarray:
    """The scores (factors, points, classes) of the trained two-layer networks, in NumPy."""
    (w1, b1), (w2, b2) = ((np.asarray(a.weight), np.asarray(a.bias)) for a in trained.layers)
    hidden = np.maximum(images @ w1.transpose(0, 2, 1) + b1[:, None], 0.0)
    return hidden @ w2.transpose(0, 2, 1) + b2[:, None]


@claim(sources=("penn",), empirical=True)
def batch_lr_scaling_rule(
    key, step_size: Real(0.015, 0.05) = 0.025, beta: Real(12.0, 30.0) = 20.0, epochs: Int(6, 20) = 10
):
    r"""Linear scaling rule for batch size.

    For small η the invariant distribution depends on η/b only: double the batch, double the step size. Its distance to
    the Gibbs distribution grows in proportion to η, so the distributions at (η, b) and (kη, kb) agree until that error
    shows; then the rule breaks.

    $$(\eta, b) \to (k\eta, kb), \quad \mathrm{TV}(\pi_{\eta}, \mathrm{Gibbs}) \propto \eta$$

    Assumes: isotropic noise; kη well below 2/L.

    Check: Exact laws and escape shares in the double well along the rule, and a digit network trained with it.
    """
    factors = np.array([1, 2, 4])
    variation, drawn_laws = [], {}
    for k in factors:
        _, kernel, losses = langevin_on_wells(k * step_size, beta)
        law = chains.invariant_law(kernel.chain)
        variation.append(chains.total_variation(law, chains.gibbs_law(losses, beta)))
        drawn_laws[int(k)] = (kernel.points, law / (kernel.points[1] - kernel.points[0]))
    variation = np.array(variation)
    yield close(np.diff(np.log2(variation)), 1.0, "order in η of the TV to Gibbs, for each doubling", atol=0.25)
    known = close(variation[0] / step_size, 0.32, "TV to Gibbs over η at β = 20, about 0.32", atol=0.02)
    yield known.given(beta == 20.0, "β = 20")
    points, first = drawn_laws[1]
    apart = [np.trapezoid(np.abs(np.interp(points, *drawn_laws[k]) - first), points) / 2 for k in (2, 4)]
    what = "TV between the laws at (η, b) and (kη, kb), against both errors"
    yield at_most(apart, variation[1:] + variation[0], what, rtol=0.01)
    # On a parabola the same correction is exact: the variance at (kη, kb) is larger by (1 − ηh/2)/(1 − kηh/2).
    one, four = (chains.IsotropicLangevin.at(k * step_size, beta).stationary_variance(2.0) for k in (1, 4))
    predicted = (1 - step_size) / (1 - 4 * step_size)
    yield close(four / one, predicted, "variance on a parabola with h = 2, (4η, 4b) over (η, b)", rtol=1e-12)
    shares = []
    for k in (1, 4):
        _, kernel, _ = langevin_on_wells(k * step_size, 40.0)
        steps = round(400 / (k * step_size))
        law = kernel.start(SHALLOW) @ np.linalg.matrix_power(kernel.chain.dense, steps)
        shares.append(law[kernel.points < BARRIER].sum())
    what = "share that left the shallow well at β = 40 by time 400, (4η, 4b) against (η, b)"
    yield close(shares[1], shares[0], what, rtol=1.6 * step_size)
    scales = np.array([1, 2, 4, 16, 64])
    mistakes = _digit_mistakes(scales, 0.05, 8, epochs, key)
    for k in (1, 2):
        what = f"test mistakes of a digit network at ({scales[k]}η, {scales[k]}b) minus those at (η, b), point by point"
        yield mean(mistakes[k].astype(float) - mistakes[0], 0.0, what)
    errors = mistakes.mean(axis=1)
    yield at_least(errors[-1], 2 * errors[0], "test error at (64η, 64b), against twice that at (η, b): the rule breaks")
    gibbs = chains.gibbs_law(well_losses(points), beta) / (points[1] - points[0])
    lines, found = {"Gibbs": (points, gibbs)}, {f"({k}η, {k}b)": shape for k, shape in drawn_laws.items()}
    shapes = figure.curves(f"Invariant laws at β = {beta:g}", "w", "density", lines=lines, points=found)
    lines, found = {"proportional to η": (factors, variation[0] * factors)}, {"exact law": (factors, variation)}
    x, y, title = "scaling factor k", "total variation", "TV to Gibbs grows like η"
    grows = figure.curves(title, x, y, lines=lines, points=found, log="xy")
    found = {"(kη, kb)": (scales, errors)}
    digits = figure.curves("Digit network, equal epochs", x, "test error", points=found, log="x")
    title = f"Along the rule the digit error is {errors[0]:.1%} to {errors[2]:.1%}, then {errors[-1]:.0%}"
    yield figure.beside(title, shapes, grows, digits)
