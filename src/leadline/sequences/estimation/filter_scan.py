"""The Kalman filter as a prefix product: an associative operation on stretches of observations."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..linear_recurrences.prefix_scans import prefix_scan
from .covariances import applied, inverse, product, sandwich, symmetric, turned
from .state_space import LinearGaussian
from .updates import Filtered, conditioned, moved, observed


class Element(NamedTuple):
    """What a stretch of observations makes of any belief before it: p(h_end | h_start, xs) and p(xs | h_start)."""

    A: Float[Array, "... d d"]
    b: Float[Array, "... d"]
    C: Float[Array, "... d d"]
    eta: Float[Array, "... d"]
    J: Float[Array, "... d d"]


def combined(early: Element, late: Element) -> Element:
    """The element of two stretches, the later after the earlier: associative."""
    eye = jnp.eye(early.A.shape[-1], dtype=early.A.dtype)
    D = inverse(eye + product(early.C, late.J))
    forward = product(late.A, D)
    back = product(turned(early.A), turned(D))
    return Element(
        product(forward, early.A),
        applied(forward, early.b + applied(early.C, late.eta)) + late.b,
        symmetric(product(product(forward, early.C), turned(late.A))) + late.C,
        applied(back, late.eta - applied(late.J, early.b)) + early.eta,
        symmetric(product(product(back, late.J), early.A)) + early.J,
    )


@jax.jit
def filter_by_scan(model: LinearGaussian, xs: Float[Array, "T k"]) -> Filtered:
    seen, C, R = observed(model, xs)
    x, eye = jnp.where(seen, xs, 0.0), jnp.eye(len(model.A), dtype=model.A.dtype)
    back = product(turned(C), inverse(sandwich(C, model.Q) + R))  # Cᵀ S⁻¹ of a state known one step before
    gain = product(model.Q, back)
    kept = eye - product(gain, C)
    elements = Element(
        product(kept, model.A),
        applied(gain, x),
        symmetric(product(kept, model.Q)),
        applied(product(model.A.T, back), x),
        sandwich(model.A.T, symmetric(product(back, C))),
    )
    first = conditioned(model, *moved(model, model.mean, model.covariance), xs[0]).belief
    elements = Element(
        elements.A.at[0].set(0.0),
        elements.b.at[0].set(first.mean),
        elements.C.at[0].set(first.covariance),
        elements.eta,
        elements.J,
    )
    stretches = prefix_scan(combined, elements).prefixes
    before = jnp.concatenate([model.mean[None], stretches.b[:-1]])
    spread = jnp.concatenate([model.covariance[None], stretches.C[:-1]])
    predicted = moved(model, before, spread)
    found = conditioned(model, *predicted, xs)
    return Filtered(
        stretches.b, stretches.C, *predicted, found.innovation, found.spread, found.gain, found.log_likelihood
    )
