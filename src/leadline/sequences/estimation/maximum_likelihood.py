"""Parameters of a state-space model by maximum likelihood."""

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Real

from .filtering import Method, kalman_filter
from .state_space import LinearGaussian, as_observations


class LikelihoodMaximum(NamedTuple):
    """A local maximum of the likelihood."""

    parameters: dict[str, float]
    standard_errors: dict[str, float]  # of the parameters, from the curvature of ln p at the maximum; NaN on an edge
    model: LinearGaussian
    log_likelihood: float
    start: float  # ln p at the parameters given
    gradient: float  # largest entry of the gradient of ln p, in the logarithms of parameters that are positive
    steps: int


def maximise_likelihood(
    build: Callable[[dict[str, Float[Array, ""]]], LinearGaussian],
    start: Mapping[str, float],
    xs: Real[Array | np.ndarray, "T ..."],
    *,
    unbounded: Collection[str] = (),
    method: Method = "loop",
    num_steps: int = 200,
) -> LikelihoodMaximum:
    """Climb ln p(x₁, …, x_T) of build(parameters) by L-BFGS from `start`, with the filter's own gradient.

    Parameters are positive (variances), and climbed in their logarithms, unless they are named in `unbounded`
    (coefficients). The likelihood has local maxima: compare a few starts. A variance whose maximum is at 0 ends at a
    tiny number. Standard errors are roots of the inverse Hessian of −ln p in the parameters themselves.

    >>> from leadline.sequences import linear_gaussian, simulate
    >>> build = lambda p: linear_gaussian(p["a"], 1.0, p["Q"], 1e-6)
    >>> xs = simulate(build({"a": 0.8, "Q": 1.0}), 500, key=jax.random.key(0)).observations[0]
    >>> best = maximise_likelihood(build, {"a": 0.0, "Q": 2.0}, xs, unbounded=["a"])
    >>> best.log_likelihood > best.start, abs(best.parameters["a"] - 0.8) < 4 * best.standard_errors["a"]
    (True, True)
    """
    from scipy.optimize import minimize

    names = list(start)
    if missing := sorted(set(unbounded) - set(names)):
        raise ValueError(f"maximise_likelihood got no start for the unbounded parameter {missing[0]!r}; give one.")
    for name in names:
        if not np.isfinite(start[name]) or (name not in unbounded and start[name] <= 0):
            wanted = "a finite number" if name in unbounded else "a number above 0, or name it in unbounded"
            raise ValueError(f"maximise_likelihood got the start {name} = {start[name]:g}; give {wanted}.")
    positive = np.array([name not in unbounded for name in names])
    first = build({name: jnp.asarray(float(start[name])) for name in names})
    xs = as_observations("maximise_likelihood", first, xs)

    def natural(z: Float[Array, " n"]) -> Float[Array, " n"]:
        return jnp.where(positive, jnp.exp(jnp.where(positive, z, 0.0)), z)

    def log_likelihood(values: Float[Array, " n"], xs: Float[Array, "T k"]) -> Float[Array, ""]:
        return kalman_filter(build(dict(zip(names, values, strict=True))), xs, method=method).log_likelihood

    slope = jax.jit(jax.value_and_grad(lambda z, xs: -log_likelihood(natural(z), xs)))

    def climb(z: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = slope(jnp.asarray(z, xs.dtype), xs)
        ok = bool(jnp.isfinite(value) & jnp.all(jnp.isfinite(gradient)))
        return (float(value), np.asarray(gradient, float)) if ok else (1e25, np.zeros_like(z))  # steps back

    given = np.array([float(start[name]) for name in names])
    begin = np.where(positive, np.log(np.where(positive, given, 1.0)), given)
    before, _ = climb(begin)
    if before >= 1e25:
        raise ValueError("maximise_likelihood found no finite likelihood at the start; start with larger variances.")
    options = {"maxiter": num_steps, "ftol": 1e-14, "gtol": 1e-6}
    end = minimize(climb, begin, jac=True, method="L-BFGS-B", options=options)
    best = np.asarray(natural(jnp.asarray(end.x, xs.dtype)), float)
    curvature = -np.asarray(jax.jit(jax.hessian(log_likelihood))(jnp.asarray(best, xs.dtype), xs), float)
    return LikelihoodMaximum(
        dict(zip(names, best.tolist(), strict=True)),
        dict(zip(names, _standard_errors(curvature).tolist(), strict=True)),
        build({name: jnp.asarray(value, xs.dtype) for name, value in zip(names, best, strict=True)}),
        -float(end.fun),
        -before,
        float(np.abs(end.jac).max()),
        int(end.nit),
    )


def _standard_errors(information: Float[np.ndarray, "n n"]) -> Float[np.ndarray, " n"]:
    scale = np.sqrt(np.abs(np.diag(information)))
    scaled = information / np.where(scale > 0, scale, 1.0)[:, None] / np.where(scale > 0, scale, 1.0)
    if not np.all(np.isfinite(scaled)) or np.linalg.eigvalsh((scaled + scaled.T) / 2)[0] <= 0:
        return np.full(len(information), np.nan)
    return np.sqrt(np.diag(np.linalg.inv(scaled))) / scale
