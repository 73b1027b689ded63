"""Moment generating functions."""

from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, probability
from leadline.evidence import Range, at_least, claim, close, figure, mean, printed


@claim(
    "mgf-factorisation",
    says=(
        "For independent X and Y the generating function of the sum is the product. For jointly Gaussian X and Y with "
        "cross-covariance C it is the product times exp(tᵀCt)."
    ),
    formula=r"M_{X+Y}(t) = M_X(t) M_Y(t) \, e^{t^\top C t}",
    sources=("sheet",),
    assumes=("X and Y jointly Gaussian (independent for the product)",),
    shows=("probability.gaussian_mgf",),
)
def mgf_factorisation(
    key,
    dim: Annotated[int, Range(1, 10)] = 2,
    correlation: Annotated[float, Range(-0.9, 0.9)] = 0.5,
    size: Annotated[float, Range(0.1, 0.8)] = 0.5,
    samples: Annotated[int, Range(2000, 50000, log=True)] = 20000,
):
    """X and Y standard normal with cross-covariance `correlation` times the identity."""
    rng = data.generator(key)
    t = rng.normal(size=dim)
    t *= size / np.linalg.norm(t)
    x, z = rng.normal(size=(2, samples, dim))
    y = correlation * x + np.sqrt(1 - correlation**2) * z
    one = float(probability.gaussian_mgf(jnp.asarray(t), jnp.zeros(dim), jnp.eye(dim)))
    both = lambda c: float(probability.gaussian_mgf(jnp.asarray(t), jnp.zeros(dim), 2 * (1 + c) * jnp.eye(dim)))  # noqa: E731
    factor = np.exp(correlation * size**2)
    yield close(both(0.0), one * one, "M of the sum, independent, against the product", rtol=1e-12)
    yield close(both(correlation) / one**2, factor, "ratio for correlated X and Y, against exp(tᵀCt)", rtol=1e-12)

    def deviation(c: float) -> float:  # of exp(t·(X+Y)), whose square is the generating function at 2t
        spread = 2 * (1 + c) * size**2
        return float(np.sqrt(np.exp(2 * spread) - np.exp(spread)))

    yield mean(
        np.exp((x + z) @ t), one * one, f"M of the sum from {samples} independent samples", deviation=deviation(0.0)
    )
    yield mean(
        np.exp((x + y) @ t), one**2 * factor, "M of the sum from correlated samples", deviation=deviation(correlation)
    )
    case = 0.5  # where the printed form, without independence, must fail
    yield printed(
        close(both(case), one**2, "product form at correlation 1/2", rtol=1e-3),
        "sheet",
        "M_{X+Y} = M_X M_Y for any X and Y",
    )
    grid = np.linspace(0, 1.2, 50)
    rhos = (-0.8, -0.4, 0.0, 0.4, 0.8)
    at = np.linspace(0.2, 1.0, 5)
    measured = [np.log(np.mean(np.exp((x + y) @ t / size * s)) / np.exp(s**2)) for s in at]
    yield figure.curves(
        "log M_{X+Y} - log M_X M_Y is ρ‖t‖², and 0 for independent X and Y",
        x="‖t‖",
        y="log ratio",
        lines={f"ρ = {rho:g}": (grid, rho * grid**2) for rho in rhos},
        points={f"samples, ρ = {correlation:g}": (at, measured)},
    )


@claim(
    "mgf-moments",
    says=(
        "Mixed moments are mixed derivatives of the generating function at 0, if it is finite near 0. Automatic "
        "differentiation gives them to rounding; finite differences lose a few digits with every order."
    ),
    formula=r"\mathbb{E} \prod_i X_i^{k_i} = \partial_1^{k_1} \cdots \partial_d^{k_d} M(0)",
    sources=("sheet",),
    shows=("probability.moment_from_mgf", "probability.gaussian_moment", "probability.moment_by_differences"),
)
def mgf_moments(
    key,
    first: Annotated[int, Range(0, 4)] = 2,
    second: Annotated[int, Range(0, 4)] = 2,
    rate: Annotated[float, Range(0.5, 3.0)] = 1.5,
):
    """A Gaussian pair with random mean and covariance, and an exponential variable."""
    from math import factorial

    rng = data.generator(key)
    root = np.eye(2) + 0.4 * rng.normal(size=(2, 2))
    centre, covariance = rng.normal(size=2), root @ root.T
    gauss = lambda t: probability.gaussian_mgf(t, jnp.asarray(centre), jnp.asarray(covariance))  # noqa: E731
    exact = probability.gaussian_moment([first, second], centre, covariance)
    scale = probability.gaussian_moment([2 * first, 0], centre, covariance) ** 0.5
    scale *= probability.gaussian_moment([0, 2 * second], centre, covariance) ** 0.5
    yield close(
        probability.moment_from_mgf(gauss, [first, second]),
        exact,
        "mixed Gaussian moment, against pairings",
        atol=1e-11 * scale,
    )
    standard = lambda t: probability.gaussian_mgf(t, jnp.zeros(1), jnp.ones((1, 1)))  # noqa: E731
    pairings = [1.0, 3.0, 15.0]
    found = [probability.moment_from_mgf(standard, [k]) for k in (2, 4, 6)]
    yield close(found, pairings, "E Z², E Z⁴, E Z⁶, against (k-1)!!", rtol=1e-12)
    exponential = lambda t: probability.exponential_mgf(t, rate)  # noqa: E731
    orders = np.arange(1, 7)
    exact = np.array([factorial(k) / rate**k for k in orders])
    machine = np.array([probability.moment_from_mgf(exponential, [int(k)]) for k in orders])
    yield close(machine, exact, "E X^k of the exponential law, against k!/λ^k", rtol=1e-11)
    difference = np.array([probability.moment_by_differences(exponential, int(k), 1e-3) for k in orders])
    error = np.abs(difference / exact - 1)
    yield at_least(error[5], 1e-3, "relative error of differences with step 1e-3 at order 6: three digits are gone")
    yield figure.curves(
        "Finite differences (step 0.001) lose the moments of high order, differentiation does not",
        x="order k",
        y="relative error",
        points={
            "finite differences": (orders, np.maximum(error, 1e-17)),
            "automatic differentiation": (orders, np.maximum(np.abs(machine / exact - 1), 1e-17)),
        },
        log="y",
    )


@claim(
    "gaussian-mgf",
    says="For X ~ N(μ, S), E exp(t·X) = exp(t·μ + tᵀSt/2); its first two derivatives at 0 are μ and S + μμᵀ.",
    formula=r"M(t) = \exp\left(t^\top \mu + \tfrac12 t^\top S t\right)",
    sources=("sheet",),
    shows=("probability.gaussian_mgf",),
)
def gaussian_mgf(
    key,
    dim: Annotated[int, Range(1, 20)] = 3,
    size: Annotated[float, Range(0.1, 1.0)] = 0.8,
    samples: Annotated[int, Range(2000, 50000, log=True)] = 20000,
):
    """Random μ and S; t scaled so that ‖S^{1/2} t‖ is `size`."""
    rng = data.generator(key)
    root = np.eye(dim) + 0.5 * rng.normal(size=(dim, dim)) / np.sqrt(dim)
    law = probability.Normal(rng.normal(size=dim), root @ root.T)
    t = rng.normal(size=dim)
    t *= size / np.linalg.norm(root.T @ t)
    exact = float(probability.gaussian_mgf(jnp.asarray(t), law.mean, law.covariance))
    x = np.asarray(law.sample(samples, key=key))
    deviation = exact * np.sqrt(np.expm1(size**2))
    yield mean(np.exp(x @ t), exact, f"E exp(t·X) from {samples} samples", deviation=deviation)
    zero = jnp.zeros(dim)
    gradient, hessian = jax.jacfwd(probability.gaussian_mgf), jax.hessian(probability.gaussian_mgf)
    yield close(gradient(zero, law.mean, law.covariance), law.mean, "gradient at 0, against μ", atol=1e-10)
    second = law.covariance + jnp.outer(law.mean, law.mean)
    yield close(hessian(zero, law.mean, law.covariance), second, "Hessian at 0, against S + μμᵀ", atol=1e-10)
