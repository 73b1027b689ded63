"""Moment generating functions."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, probability
from leadline.evidence import Int, Real, at_least, claim, close, erratum, mean
from leadline.presentation import figure
from leadline.probability.moments import (
    exponential_mgf,
    gaussian_mgf as probability_gaussian_mgf,
    gaussian_moment,
    moment_by_differences,
    moment_from_mgf,
)


@claim(sources=("sheet",))
def mgf_factorisation(
    key,
    dim: Int(1, 10) = 2,
    correlation: Real(-0.9, 0.9) = 0.5,
    size: Real(0.1, 0.8) = 0.5,
    samples: Int(2000, 50000, log=True) = 20000,
):
    r"""Moment generating function of a sum.

    For independent X and Y the moment generating function of the sum is the product of the two. For jointly Gaussian X
    and Y with cross-covariance C it is the product times $e^{t^\top C t}$.

    $$M_{X+Y}(t) = M_X(t) M_Y(t) \, e^{t^\top C t}$$

    Assumes: X and Y are jointly Gaussian (independent, for the product).

    Check: X and Y are standard normal with cross-covariance `correlation` times the identity.
    """
    rng = data.generator(key)
    t = rng.normal(size=dim)
    t *= size / np.linalg.norm(t)
    x, z = rng.normal(size=(2, samples, dim))
    y = correlation * x + np.sqrt(1 - correlation**2) * z
    one = probability_gaussian_mgf(jnp.asarray(t), jnp.zeros(dim), jnp.eye(dim))
    both = lambda c: probability_gaussian_mgf(jnp.asarray(t), jnp.zeros(dim), 2 * (1 + c) * jnp.eye(dim))  # noqa: E731
    factor = np.exp(correlation * size**2)
    product = close(both(0.0), one * one, "M of the sum, independent, against the product", rtol=1e-12)
    yield product
    wrong = close(both(0.5), one**2, "M of the sum at correlation 1/2, against the product", rtol=1e-3)
    yield erratum(wrong, of=product, by="sheet", prints="M_{X+Y} = M_X M_Y, without 'independent'")
    yield close(both(correlation) / one**2, factor, "ratio for correlated X and Y, against exp(tᵀCt)", rtol=1e-12)

    def deviation(c: float) -> float:  # of exp(t·(X+Y)), whose square is the generating function at 2t
        spread = 2 * (1 + c) * size**2
        return np.sqrt(np.exp(2 * spread) - np.exp(spread))

    what = f"M of the sum from {samples} independent samples"
    yield mean(np.exp((x + z) @ t), one * one, what, deviation=deviation(0.0))
    what = f"M of the sum from {samples} correlated samples"
    yield mean(np.exp((x + y) @ t), one**2 * factor, what, deviation=deviation(correlation))
    grid, at = np.linspace(0, 1.2, 50), np.linspace(0.2, 1.0, 5)
    measured = [np.log(np.mean(np.exp((x + y) @ t / size * s)) / np.exp(s**2)) for s in at]
    title = "log M_{X+Y} − log M_X M_Y is ρ‖t‖², and 0 for independent X and Y"
    lines = {f"ρ = {rho:g}": (grid, rho * grid**2) for rho in (-0.8, -0.4, 0.0, 0.4, 0.8)}
    points = {f"samples, ρ = {correlation:g}": (at, measured)}
    yield figure.curves(title, "‖t‖", "log ratio", lines=lines, points=points)


@claim(sources=("sheet",))
def mgf_moments(key, first: Int(0, 4) = 2, second: Int(0, 4) = 2, rate: Real(0.5, 3.0) = 1.5):
    r"""Moments as derivatives of the generating function.

    Mixed moments are mixed derivatives of the moment generating function at 0, if it is finite near 0. Automatic
    differentiation gives them to rounding accuracy; finite differences lose a few digits with every order.

    $$\mathbb{E} \prod_i X_i^{k_i} = \partial_1^{k_1} \cdots \partial_d^{k_d} M(0)$$
    """
    from math import factorial

    rng = data.generator(key)
    root = np.eye(2) + 0.4 * rng.normal(size=(2, 2))
    centre, covariance = rng.normal(size=2), root @ root.T
    gauss = lambda t: probability_gaussian_mgf(t, jnp.asarray(centre), jnp.asarray(covariance))  # noqa: E731
    exact = gaussian_moment([first, second], centre, covariance)
    scale = gaussian_moment([2 * first, 0], centre, covariance) ** 0.5
    scale *= gaussian_moment([0, 2 * second], centre, covariance) ** 0.5
    found = moment_from_mgf(gauss, [first, second])
    yield close(found, exact, "mixed Gaussian moment, against pairings", atol=1e-11 * scale)
    standard = lambda t: probability_gaussian_mgf(t, jnp.zeros(1), jnp.ones((1, 1)))  # noqa: E731
    found = [moment_from_mgf(standard, [k]) for k in (2, 4, 6)]
    yield close(found, [1.0, 3.0, 15.0], "E Z², E Z⁴, E Z⁶, against (k−1)!!", rtol=1e-12)
    exponential = lambda t: exponential_mgf(t, rate)  # noqa: E731
    orders = np.arange(1, 7)
    exact = np.array([factorial(k) / rate**k for k in orders])
    machine = np.array([moment_from_mgf(exponential, [int(k)]) for k in orders])
    yield close(machine, exact, "E Xᵏ of the exponential distribution, against k!/λᵏ", rtol=1e-11)
    difference = np.array([moment_by_differences(exponential, int(k), 1e-3) for k in orders])
    error = np.abs(difference / exact - 1)
    yield at_least(error[5], 1e-3, "relative error of differences with step 1e-3 at order 6: three digits are gone")
    points = {"finite differences": (orders, error), "automatic differentiation": (orders, np.abs(machine / exact - 1))}
    title = "Finite differences (step 0.001) lose the moments of high order, differentiation does not"
    yield figure.curves(title, "order k", "relative error", points=points, log="y")


@claim(sources=("sheet",))
def gaussian_mgf(key, dim: Int(1, 20) = 3, size: Real(0.1, 1.0) = 0.8, samples: Int(2000, 50000, log=True) = 20000):
    r"""Moment generating function of a Gaussian.

    For X ~ N(μ, S), $\mathbb{E}\, e^{t \cdot X} = e^{t \cdot \mu + t^\top S t/2}$; its first two derivatives at 0 are
    μ and S + μμᵀ.

    $$M(t) = \exp\left(t^\top \mu + \tfrac12 t^\top S t\right)$$

    Check: μ and S are random, and t is scaled so that $\|S^{1/2} t\|$ equals `size`.
    """
    rng = data.generator(key)
    root = np.eye(dim) + 0.5 * rng.normal(size=(dim, dim)) / np.sqrt(dim)
    law = probability.Normal(rng.normal(size=dim), root @ root.T)
    t = rng.normal(size=dim)
    t *= size / np.linalg.norm(root.T @ t)
    moments = law.mean, law.covariance
    exact = probability_gaussian_mgf(jnp.asarray(t), *moments)
    x = np.asarray(law.sample(samples, key=key))
    deviation = exact * np.sqrt(np.expm1(size**2))
    yield mean(np.exp(x @ t), exact, f"E exp(t·X) from {samples} samples", deviation=deviation)
    zero = jnp.zeros(dim)
    gradient, hessian = jax.jacfwd(probability_gaussian_mgf), jax.hessian(probability_gaussian_mgf)
    yield close(gradient(zero, *moments), law.mean, "gradient of M at 0, against μ", atol=1e-10)
    second = law.covariance + jnp.outer(law.mean, law.mean)
    yield close(hessian(zero, *moments), second, "Hessian of M at 0, against S + μμᵀ", atol=1e-10)
