"""Training a Gaussian over weights by the PAC-Bayes bound itself: reparameterised gradients of loss plus price."""

import math
from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from leadline.data import generator
from leadline.training import RowLosses, scan_steps

from .pac_bayes_bounds import diagonal_gaussian_kl

_STEPS_TOGETHER = 100  # steps in one compiled scan; more are made by repeating it


class GaussianPosterior(NamedTuple):
    """Q = N(μ, diag e^(2ρ)) over the parameters of a network: two pytrees of its shape."""

    mean: PyTree
    log_deviation: PyTree

    def at(self, noise: PyTree) -> PyTree:
        """θ = μ + e^ρ ε: a draw, from standard normal noise ε; differentiable in μ and ρ."""
        return jax.tree.map(lambda m, r, e: m + jnp.exp(r) * e, self.mean, self.log_deviation, noise)

    def draw(self, key: PRNGKeyArray) -> PyTree:
        """θ from Q."""
        flat, unravel = ravel_pytree(self.mean)
        return self.at(unravel(jax.random.normal(key, flat.shape, flat.dtype)))


def reparameterised_gradient(
    loss: Callable[[Array], Float[Array, ""]],
    mean: Float[Array, " p"],
    log_deviation: Float[Array, " p"],
    noise: Float[Array, "m p"],
) -> tuple[Float[Array, "m p"], Float[Array, "m p"]]:
    """m unbiased estimates of the gradient of E_Q loss in μ and in ρ: ∇loss(θ) and ∇loss(θ)·e^ρ ε at θ = μ + e^ρ ε.

    >>> in_mean, in_rho = reparameterised_gradient(jnp.sum, jnp.zeros(2), jnp.zeros(2), jnp.ones((1, 2)))
    >>> in_mean.tolist(), in_rho.tolist()
    ([[1.0, 1.0]], [[1.0, 1.0]])
    """
    slopes = jax.vmap(jax.grad(loss))(mean + jnp.exp(log_deviation) * noise)
    return slopes, slopes * jnp.exp(log_deviation) * noise


def score_gradient(
    loss: Callable[[Array], Float[Array, ""]],
    mean: Float[Array, " p"],
    log_deviation: Float[Array, " p"],
    noise: Float[Array, "m p"],
) -> tuple[Float[Array, "m p"], Float[Array, "m p"]]:
    """The same by the score function, loss(θ) ∇ln q(θ): loss·e^(−ρ) ε and loss·(ε² − 1); needs no gradient of the loss.

    >>> in_mean, _ = score_gradient(jnp.sum, jnp.ones(2), jnp.zeros(2), jnp.ones((1, 2)))
    >>> in_mean.tolist()
    [[4.0, 4.0]]
    """
    values = jax.vmap(loss)(mean + jnp.exp(log_deviation) * noise)[:, None]
    return values * noise * jnp.exp(-log_deviation), values * (noise**2 - 1)


class PosteriorTraining(NamedTuple):
    """A trained posterior, and its surrogate risk, KL and mean ρ before each step."""

    posterior: GaussianPosterior
    surrogate: Float[np.ndarray, " steps"]
    kl: Float[np.ndarray, " steps"]
    mean_log_deviation: Float[np.ndarray, " steps"]


def train_posterior(
    surrogate: Callable[..., Float[Array, ""]],
    start: GaussianPosterior,
    prior: PyTree,
    *arrays: Float[Array | np.ndarray, "n ..."] | Array | np.ndarray,
    prior_deviation: float | None = None,
    delta: float = 0.05,
    num_steps: int = 300,
    batch: int = 128,
    rates: tuple[float, float] = (1e-3, 2e-2),
    form: Literal["relaxed", "kl", "unpriced"] = "relaxed",
    key: PRNGKeyArray,
) -> PosteriorTraining:
    """Minimise E_Q surrogate + √((KL(Q ‖ N(prior, λ²I)) + ln(2√n/δ))/(2n)) over Q by Adam, one draw of weights a step.

    surrogate(params, *rows) is the mean over rows of a loss above the 0-1 error, cross-entropy/ln 2 say; `rates` are
    the steps of μ and of ρ (0 holds μ fixed). Without `prior_deviation` λ² is the best one, the mean of
    s² + (μ − μ₀)²: the bound must then pay for a grid. Form "kl" minimises the inverted bound (surrogate in [0, 1]),
    "unpriced" the surrogate alone. Dziugaite and Roy 2017; whichever Q comes out, the bound holds for it.

    >>> flat = GaussianPosterior(jnp.zeros(1), jnp.zeros(1) - 2)
    >>> ran = train_posterior(lambda w, x: 0 * w.sum(), flat, jnp.zeros(1), jnp.ones(9), prior_deviation=1.0,
    ...                       num_steps=200, key=jax.random.key(0))  # nothing to learn: back to the prior
    >>> bool(jnp.abs(ran.posterior.log_deviation[0]) < 0.2)
    True
    """
    n = len(arrays[0])
    rng = generator(key)
    together = math.gcd(num_steps, _STEPS_TOGETHER)
    dtype = jnp.result_type(*jax.tree.leaves(start.mean))
    number = partial(np.asarray, dtype=dtype)
    setting = (
        number(n),
        number(np.log(2 * np.sqrt(n) / delta)),
        None if prior_deviation is None else number(prior_deviation),
        number(form != "unpriced"),
        tuple(map(number, rates)),
    )
    flat = np.zeros(sum(leaf.size for leaf in jax.tree.leaves(start.mean)), dtype)
    held = rates[0] == 0  # then μ needs neither gradient nor memory
    memory, history = _rule(rates[-1:] if held else rates).init((flat,) if held else (flat, flat)), []
    posterior = start
    for part in range(num_steps // together):
        chosen = rng.integers(n, size=(together, min(batch, n)))
        rows = tuple(np.asarray(a)[chosen] for a in arrays)
        draws = jax.random.split(jax.random.fold_in(key, part), together)
        posterior, memory, told = _train(surrogate, posterior, memory, prior, rows, draws, setting, form == "kl", held)
        history.append(told)
    columns = (np.concatenate([np.asarray(part) for part in column]) for column in zip(*history, strict=True))
    return PosteriorTraining(posterior, *columns)


@eqx.filter_jit
def _train(surrogate, start, memory, prior, rows, keys, setting, inverted, held) -> tuple:
    """Some steps on given rows: the posterior, Adam's memory and the history. Compiled once for any n and setting."""
    n, price, width, priced, rates = setting
    given, unravel = ravel_pytree(start.mean)
    rho, centre = (ravel_pytree(tree)[0].astype(given.dtype) for tree in (start.log_deviation, prior))

    def objective(flat, batch, _, state):
        (mean, rho), (key, rows) = (given, *flat) if held else flat, batch
        noise = jax.random.normal(key, mean.shape, mean.dtype)
        risk = surrogate(unravel(mean + jnp.exp(rho) * noise), *rows)
        kl = _kl(mean, rho, centre, width)
        budget = (kl + price) / n
        whole = _tangent_of_inverse(risk, budget) if inverted else risk + priced * jnp.sqrt(budget / 2)
        return RowLosses(whole, aux=(risk, kl, jnp.mean(rho))), state

    moved, rule = ((rho,), _rule(rates[-1:])) if held else ((given, rho), _rule(rates))
    ran = scan_steps(objective, moved, rule, (keys, rows), opt_state=memory, measure=lambda seen: seen.rows.aux)
    mean, rho = (given, *ran.model) if held else ran.model
    return GaussianPosterior(unravel(mean), unravel(rho)), ran.opt_state, ran.measured


def _rule(rates) -> optax.GradientTransformation:
    """Adam with a rate for μ and one for ρ."""
    scaled = optax.stateless(lambda change, _: tuple(-rate * c for rate, c in zip(rates, change, strict=True)))
    return optax.chain(optax.scale_by_adam(), scaled)


def _tangent_of_inverse(risk: Float[Array, ""], budget: Float[Array, ""]) -> Float[Array, ""]:
    """A function of (risk, budget) with the gradient of kl⁻¹(risk | budget), by the implicit function theorem."""
    q = jnp.clip(jax.lax.stop_gradient(risk), 1e-3, 0.95)
    c = jax.lax.stop_gradient(budget)
    tiny = 1e-6

    def halve(_, ends):
        low, high = ends
        p = (low + high) / 2
        inside = q * jnp.log(q / p) + (1 - q) * jnp.log((1 - q) / (1 - p)) <= c
        return jnp.where(inside, p, low), jnp.where(inside, high, p)

    _, p = jax.lax.fori_loop(0, 25, halve, (q, jnp.full_like(q, 1 - tiny)))
    slope = (1 - q) / (1 - p) - q / jnp.maximum(p, q + tiny)
    return (risk * jnp.log((1 - q) * p / (q * (1 - p))) + budget) / jnp.maximum(slope, tiny)


def _kl(mean: Array, rho: Array, centre: Array, deviation: Array | None) -> Float[Array, ""]:
    """KL(Q ‖ N(centre, λ²I)), with the λ that makes it least where none is given: (p/2) ln λ² − Σρ."""
    spread = jnp.exp(2 * rho) + (mean - centre) ** 2
    if deviation is None:
        return 0.5 * mean.size * jnp.log(jnp.mean(spread)) - jnp.sum(rho)
    return jnp.asarray(diagonal_gaussian_kl(mean, jnp.exp(rho), centre, deviation))
