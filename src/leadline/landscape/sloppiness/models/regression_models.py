"""Nonlinear regression y = f(x; w) + N(0, σ²): models with exact derivatives, fitted by Levenberg-Marquardt.

A model is f at fixed inputs x₁, …, xₙ, so that weights w give a point (f(x₁; w), …, f(xₙ; w)) of data space.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

Reals = Float[np.ndarray, "..."]


@dataclass(frozen=True)
class RegressionFit:
    """What least squares found: residuals r = (y − f)/σ, Σr² with its degrees of freedom, and ‖Jᵀr‖ at the weights."""

    weights: Float[np.ndarray, " p"]
    predictions: Float[np.ndarray, " n"]
    residuals: Float[np.ndarray, " n"]
    deviation: float
    chi_square: float
    degrees: int
    slope: float
    converged: bool

    @property
    def p_value(self) -> float:
        """P(χ²(n − p) ≥ Σr²): small where the model misses more than the noise explains; σ must be known."""
        from scipy.special import chdtrc

        return float(chdtrc(self.degrees, self.chi_square)) if self.degrees else 1.0


@dataclass(frozen=True)
class RegressionModel:
    """f(·; w) at the inputs x₁, …, xₙ, with its Jacobian and second directional derivatives in closed form.

    For weights (…, p): `value(x, w)` is (…, n), `gradient(x, w)` is (…, n, p), and `bend(x, w, v)`, d²/ds² f(x; w + sv)
    at s = 0, is (…, n).

    >>> model = michaelis_menten(np.array([1.0, 3.0]))
    >>> model.names, model.predict(np.array([4.0, 1.0])).tolist()
    (('V', 'K'), [2.0, 3.0])
    """

    inputs: Reals
    names: tuple[str, ...]
    value: Callable[[Reals, Reals], Reals]
    gradient: Callable[[Reals, Reals], Reals]
    bend: Callable[[Reals, Reals, Reals], Reals]

    @property
    def size(self) -> int:
        """p, the number of weights."""
        return len(self.names)

    def at(self, inputs: Reals) -> "RegressionModel":
        """The same model at other inputs."""
        return replace(self, inputs=np.asarray(inputs, float))

    def predict(self, w: Float[np.ndarray, "*batch p"]) -> Float[np.ndarray, "*batch n"]:
        """The point of the model manifold; one for each row of a batch of weights."""
        return self.value(self.inputs, self._checked(w))

    def jacobian(self, w: Float[np.ndarray, "*batch p"]) -> Float[np.ndarray, "*batch n p"]:
        """∂f(xᵢ; w)/∂wⱼ."""
        return self.gradient(self.inputs, self._checked(w))

    def acceleration(
        self, w: Float[np.ndarray, "*batch p"], v: Float[np.ndarray, "*batch p"]
    ) -> Float[np.ndarray, "*batch n"]:
        """Σⱼₖ vⱼ vₖ ∂²f/∂wⱼ∂wₖ: the second derivative of the predictions along v."""
        return self.bend(self.inputs, self._checked(w), np.asarray(v, float))

    def metric(self, w: Float[np.ndarray, " p"], deviation: float = 1.0) -> Float[np.ndarray, "p p"]:
        """The Fisher metric per sample, g = JᵀJ/(nσ²)."""
        jacobian = self.jacobian(w)
        return jacobian.T @ jacobian / (len(jacobian) * deviation**2)

    def cost(self, w: Float[np.ndarray, "*batch p"], y: Float[np.ndarray, " n"], deviation: float = 1.0) -> Reals:
        """C = (1/2n) Σ rᵢ², r = (y − f)/σ."""
        return np.asarray(np.mean(((y - self.predict(w)) / deviation) ** 2, -1) / 2)

    def negative_log_likelihood(
        self, w: Float[np.ndarray, " p"], y: Float[np.ndarray, " n"], deviation: float
    ) -> float:
        """−ln Π N(yᵢ; f(xᵢ; w), σ²) = nC + n ln σ + (n/2) ln 2π."""
        return float(len(y) * (self.cost(w, y, deviation) + np.log(deviation) + np.log(2 * np.pi) / 2))

    def fit(
        self, y: Float[np.ndarray, " n"], start: Float[np.ndarray, " p"], deviation: float | None = 1.0
    ) -> RegressionFit:
        """Least squares from `start` by Levenberg-Marquardt (MINPACK); σ = None is profiled: σ̂² = Σ(y − f)²/n.

        >>> model = michaelis_menten(np.array([0.5, 1.0, 3.0, 9.0]))
        >>> model.fit(model.predict(np.array([4.0, 1.0])), np.array([1.0, 0.5])).weights.round(9).tolist()
        [4.0, 1.0]
        """
        from scipy.optimize import least_squares

        y, start = np.asarray(y, float), self._checked(start)
        if y.shape != (len(self.inputs),):
            raise ValueError(f"y has the shape {y.shape}; give one number for each of the {len(self.inputs)} inputs.")
        with np.errstate(over="ignore", invalid="ignore"):  # a trial step may go too far and is taken back
            found = least_squares(
                lambda w: self.predict(w) - y,
                start,
                jac=lambda w: self.jacobian(w),
                method="lm" if len(y) >= self.size else "trf",
                ftol=1e-15,
                xtol=1e-15,
                gtol=1e-15,
                x_scale="jac",
                max_nfev=200 * (self.size + 1),
            )
        return self.summary(found.x, y, deviation, bool(found.status > 0))

    def summary(
        self,
        w: Float[np.ndarray, " p"],
        y: Float[np.ndarray, " n"],
        deviation: float | None = 1.0,
        converged: bool = True,
    ) -> RegressionFit:
        """The residuals, Σr² and ‖Jᵀr‖ of given weights."""
        predictions = self.predict(w)
        misses = y - predictions
        sigma = float(np.sqrt(np.mean(misses**2))) if deviation is None else float(deviation)
        r = misses / sigma if sigma else misses
        slope = float(np.linalg.norm(self.jacobian(w).T @ r))
        degrees = max(len(y) - self.size, 0)
        return RegressionFit(w, predictions, r, sigma, float(r @ r), degrees, slope, converged)

    def _checked(self, w: Reals) -> Reals:
        w = np.asarray(w, float)
        if w.shape[-1:] != (self.size,):
            raise ValueError(
                f"The weights have the shape {w.shape}; give {self.size} of them: {', '.join(self.names)}."
            )
        return w


def sum_of_exponentials(times: Reals, terms: int, *, amplitudes: bool = False) -> RegressionModel:
    """f(t; w) = Σₖ e^{−wₖt}, the classic sloppy model; with `amplitudes` Σₖ aₖ e^{−wₖt}, w = (rates, amplitudes).

    >>> sum_of_exponentials(np.array([0.0, 1.0]), 2).predict(np.array([0.0, np.log(2.0)])).tolist()
    [2.0, 1.5]
    """
    if terms < 1:
        raise ValueError(f"terms = {terms} exponentials make no model; give at least 1.")

    def split(w):
        return w[..., None, :terms], w[..., None, terms:] if amplitudes else 1.0

    def value(t, w):
        rates, sizes = split(w)
        return (sizes * np.exp(-t[:, None] * rates)).sum(-1)

    def gradient(t, w):
        rates, sizes = split(w)
        decays = np.exp(-t[:, None] * rates)
        by_rate = -sizes * t[:, None] * decays
        return np.concatenate([by_rate, decays], -1) if amplitudes else by_rate

    def bend(t, w, v):
        (rates, sizes), u = split(w), v[..., None, :terms]
        decays = np.exp(-t[:, None] * rates)
        second = (sizes * (t[:, None] * u) ** 2 * decays).sum(-1)
        if not amplitudes:
            return second
        return second - 2 * (v[..., None, terms:] * u * t[:, None] * decays).sum(-1)

    names = [f"rate {k + 1}" for k in range(terms)]
    names += [f"amplitude {k + 1}" for k in range(terms)] if amplitudes else []
    return RegressionModel(np.asarray(times, float), tuple(names), value, gradient, bend)


def polynomial_model(points: Reals, degree: int) -> RegressionModel:
    """f(x; w) = Σₖ wₖ xᵏ, k = 0, …, degree: linear in w, its Jacobian the Vandermonde matrix.

    >>> polynomial_model(np.array([2.0]), 2).jacobian(np.zeros(3)).tolist()
    [[1.0, 2.0, 4.0]]
    """
    if degree < 0:
        raise ValueError(f"degree = {degree} is no degree of a polynomial; give 0 or more.")
    return linear_model(
        lambda x: np.vander(x, degree + 1, increasing=True), points, [f"x^{k}" for k in range(degree + 1)]
    )


def linear_model(features: Callable[[Reals], Reals], points: Reals, names: Sequence[str]) -> RegressionModel:
    """f(x; w) = Σₖ wₖ φₖ(x) for any features φ(x) of shape (n, p); its manifold is flat.

    >>> model = linear_model(lambda x: np.stack([x, 1 / x], 1), np.array([2.0]), ["a", "b"])
    >>> model.predict(np.array([1.0, 2.0])).tolist()
    [3.0]
    """

    def gradient(x, w):
        phi = features(x)
        return np.broadcast_to(phi, (*w.shape[:-1], *phi.shape))

    return RegressionModel(
        np.asarray(points, float),
        tuple(names),
        lambda x, w: w @ features(x).T,
        gradient,
        lambda x, w, v: np.zeros((*w.shape[:-1], len(x))),
    )


def michaelis_menten(concentrations: Reals) -> RegressionModel:
    """f(s; V, K) = V s/(K + s), the rate of an enzyme reaction at the substrate concentration s.

    >>> michaelis_menten(np.array([2.0])).predict(np.array([6.0, 1.0])).tolist()
    [4.0]
    """

    def value(s, w):
        return w[..., :1] * s / (w[..., 1:] + s)

    def gradient(s, w):
        share = s / (w[..., 1:] + s)
        return np.stack([share, -w[..., :1] * share / (w[..., 1:] + s)], -1)

    def bend(s, w, v):
        below, slow = w[..., 1:] + s, v[..., 1:]
        return 2 * s * slow / below**2 * (w[..., :1] * slow / below - v[..., :1])

    return RegressionModel(np.asarray(concentrations, float), ("V", "K"), value, gradient, bend)


def network_model(inputs: Reals, hidden: int) -> RegressionModel:
    """f(x; w) = Σⱼ aⱼ tanh(bⱼ·x + cⱼ) + d with `hidden` units; w = (a, c, b row by row, d); inputs (n,) or (n, k).

    >>> network_model(np.array([0.0]), 1).predict(np.array([2.0, 0.0, 1.0, 0.5])).tolist()
    [0.5]
    """
    if hidden < 1:
        raise ValueError(f"hidden = {hidden} units make no network; give at least 1.")
    inputs = np.asarray(inputs, float)
    width = 1 if inputs.ndim == 1 else inputs.shape[1]

    def parts(x, w):
        rows = w[..., 2 * hidden : -1].reshape(*w.shape[:-1], hidden, width)
        return w[..., :hidden], x.reshape(len(x), width) @ np.swapaxes(rows, -1, -2) + w[..., None, hidden : 2 * hidden]

    def value(x, w):
        a, z = parts(x, w)
        return np.einsum("...nj,...j->...n", np.tanh(z), a) + w[..., -1:]

    def gradient(x, w):
        a, z = parts(x, w)
        h = np.tanh(z)
        by_z = a[..., None, :] * (1 - h**2)
        by_row = (by_z[..., None] * x.reshape(len(x), 1, width)).reshape(*h.shape[:-1], -1)
        return np.concatenate([h, by_z, by_row, np.ones((*h.shape[:-1], 1))], -1)

    def bend(x, w, v):
        (a, z), (b, dz) = parts(x, w), parts(x, v)
        h = np.tanh(z)
        first = 1 - h**2
        return (2 * first * dz * (b[..., None, :] - a[..., None, :] * h * dz)).sum(-1)

    rows = [f"b{j + 1}" if width == 1 else f"b{j + 1},{k + 1}" for j in range(hidden) for k in range(width)]
    names = [f"a{j + 1}" for j in range(hidden)] + [f"c{j + 1}" for j in range(hidden)] + rows + ["d"]
    return RegressionModel(inputs, tuple(names), value, gradient, bend)
