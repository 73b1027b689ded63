"""A loss with a penalty: its gradient, its proximal step, and whether μ stands beside a mean or a sum."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, learning, optimisation, regularisation, training
from leadline.evidence import Int, Real, at_least, at_most, close, method
from leadline.presentation import figure


def half_squares(params, x, y):
    """(1/2n)‖y − Xw − b‖² of the parameters {"kernel": (d, 1), "bias": (1)}."""
    return jnp.mean((x @ params["kernel"][:, 0] + params["bias"][0] - y) ** 2) / 2


@method(
    sources=("penn", "sheet"),
    shows=("regularisation.matrices", "regularisation.everything", "regularisation.GroupNorm"),
)
def penalised_objective(
    key, samples: Int(30, 200) = 60, dim: Int(2, 12) = 6, strength: Real(1e-3, 1.0, log=True) = 0.05
):
    r"""Penalised objective.

    A penalty μΩ(θ) is added to the loss. Ω is half the squared norm of the weight matrices, their ℓ1 norm, the norms
    of their rows, or any function; biases and gains of normalisers are left out by their parameter group. μ beside a
    mean over n rows is nμ beside the sum.

    $$l'(\theta) = \frac1n \sum_i l_i(\theta) + \mu\, \Omega(\theta), \qquad \Omega(\theta) = \tfrac12 \sum_l
    \|W_l\|_F^2, \qquad \mu_{\mathrm{sum}} = n\, \mu_{\mathrm{mean}}$$

    Check: Linear regression is minimised by Newton's method in both conventions, and by proximal steps for the ℓ1
    norm; ridge and lasso have solvers of their own. The figure's data are 40 noisy points of sin 2πx.
    """
    rng = data.generator(key)
    x = rng.normal(size=(samples, dim))
    y = x @ rng.normal(size=dim) + 2.0 + rng.normal(size=samples)
    rows = jnp.asarray(x), jnp.asarray(y)
    params = {"kernel": jnp.asarray(rng.normal(size=(dim, 1))), "bias": jnp.asarray(rng.normal(size=1))}
    w = np.asarray(params["kernel"])
    missed = (x @ w[:, 0] + float(params["bias"][0]) - y) / samples
    slopes = {"½‖W‖²": w, "ℓ1": np.sign(w), "row norms": w / np.linalg.norm(w, axis=1, keepdims=True)}
    kinds = regularisation.SquaredNorm(), regularisation.AbsoluteNorm(), regularisation.GroupNorm()
    for (name, slope), penalty in zip(slopes.items(), kinds, strict=True):
        found = jax.grad(regularisation.Penalised(half_squares, penalty, strength))(params, *rows)
        written = x.T @ missed + strength * slope[:, 0]
        yield close(found["kernel"][:, 0], written, f"gradient in the weights by autodiff, {name}", atol=1e-12)
        yield close(found["bias"][0], missed.sum(), f"gradient in the bias, {name}: no penalty", atol=1e-12)
    ends = {}
    for convention in ("mean", "sum"):
        own = strength
        if convention == "sum":
            own = regularisation.convert_strength(strength, samples, to="sum")
        whole = regularisation.Penalised(half_squares, regularisation.SquaredNorm(), own, convention)
        objective, start = optimisation.flat_objective(whole, params, *rows)
        ends[convention] = optimisation.newton_minimum(lambda w, f=objective: f(w), np.asarray(start)).point
    yield close(ends["sum"], ends["mean"], "minimiser beside a sum with nμ, against beside a mean with μ", atol=1e-8)
    ridge = learning.ridge(x, y, strength)
    both = np.append(ridge.bias, ridge.weights)  # the order of the dictionary's keys
    yield close(ends["mean"], both, "minimiser with ½‖W‖², against ridge regression", atol=1e-9)
    step = 1 / float(np.linalg.norm(np.c_[x, np.ones(samples)], 2) ** 2 / samples)
    rule = regularisation.proximal(optax.sgd(step), regularisation.AbsoluteNorm(), step * strength)
    end, _ = training.minimise(half_squares, params, rule, 3000, *rows)
    lasso = learning.lasso(*rows, strength)
    yield close(end["kernel"][:, 0], lasso.weights, "minimiser by proximal steps, ℓ1, against the lasso", atol=1e-8)
    yield from _sine_path(rng)


def _sine_path(rng):
    """Training error, test error and norm along a path of μ on noisy points of a sine."""
    rows, grid = rng.uniform(size=40), np.linspace(0, 1, 201)
    targets = np.sin(2 * np.pi * rows) + 0.3 * rng.normal(size=40)
    strengths = np.geomspace(1e-6, 1e2, 33)
    x, fine = learning.legendre_features(rows, 15)[:, 1:], learning.legendre_features(grid, 15)[:, 1:]
    fits = learning.ridge_fits(x, targets, strengths)
    norms = np.linalg.norm(fits.weights, axis=1)
    train = np.mean((fits.weights @ x.T + fits.bias[:, None] - targets) ** 2, axis=1)
    test = np.mean((fits.weights @ fine.T + fits.bias[:, None] - np.sin(2 * np.pi * grid)) ** 2, axis=1)
    # A backward stable fit solves a problem whose X and y are rounded, and μ/(s² + nμ) ≤ 1/n: so the error may move.
    size = np.linalg.norm(x) * norms.max() + np.linalg.norm(targets)
    rounding = 10 * np.finfo(float).eps * size**2 / len(targets)
    yield at_least(np.diff(train), 0.0, "polynomial: change of the training error as μ grows", atol=rounding)
    yield at_most(np.diff(norms), 0.0, "polynomial: change of ‖W‖ as μ grows", atol=1e-9 * norms[0])
    points = {"training": (strengths, train), "new data, without noise": (strengths, test)}
    errors = figure.curves("errors", "μ", "mean squared error", log="xy", points=points)
    sizes = figure.curves("norm of the weights", "μ", "‖W‖", log="xy", points={"‖W‖": (strengths, norms)})
    best = strengths[test.argmin()]
    title = f"Degree 15 on 40 points: the training error only grows with μ, that on new data is least at μ = {best:.1g}"
    yield figure.beside(title, errors, sizes)
