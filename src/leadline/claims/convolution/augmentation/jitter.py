"""Jittered inputs: ridge regression for linear models, a kernel smoother for flexible ones."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, learning, regularisation
from leadline.convolution import augmentation as aug
from leadline.evidence import Int, Real, at_least, at_most, claim, close, mean, slope
from leadline.presentation import figure

REPEATS, MOST = 24, 512


@claim(sources=("penn",), shows=("convolution.augmentation.Noise", "regularisation.input_noise_ridge"))
def jitter_is_ridge(key, samples: Int(15, 60) = 30, dim: Int(2, 8) = 4, scale: Real(0.2, 1.0, log=True) = 0.5):
    r"""Jittered copies are ridge regression.

    Least squares on K copies of each row, with Gaussian noise of variance s² in the inputs, tends to ridge regression
    with strength n s² as K grows; its distance falls as $K^{-1/2}$.

    $$\lim_{K \to \infty} \frac1K \sum_{k,i} (y_i - (x_i + \xi_{ik})^\top w)^2 = \|y - Xw\|^2 + n s^2 \|w\|^2$$

    Assumes: the model is linear; the noise is independent, of covariance s²I; the originals are not among the copies.

    Check: Copies are drawn and fitted by least squares; ridge regression is in closed form, with the strength from the
    chapter on regularisation. The distance is the root of a mean of squares over 24 draws.
    """
    rng = data.generator(key)
    x = rng.normal(size=(samples, dim))
    y = x @ rng.normal(size=dim) + 0.5 * rng.normal(size=samples)
    ridge = learning.ridge(x, y, regularisation.input_noise_ridge(samples, scale) / samples, intercept=False).weights
    counts = MOST // 2 ** np.arange(6)[::-1]
    made = np.asarray(_copies(jnp.asarray(x), scale, jax.random.split(key, REPEATS)))
    fitted = np.array([[_fitted(some[:k], y) for some in made] for k in counts])  # (counts, repeats, dim)
    away = np.sqrt(((fitted - ridge) ** 2).sum(axis=2).mean(axis=1))
    yield slope(counts, away, -0.5, "distance from ridge regression, power of the number of copies", within=0.05)
    plain = learning.least_squares(x, y, intercept=False).weights
    what = f"{counts[-1]} copies: distance from ridge regression, against that of plain least squares"
    yield at_most(np.linalg.norm(fitted[-1] - ridge, axis=1), np.linalg.norm(plain - ridge), what)
    alpha = regularisation.input_noise_ridge(samples, scale)
    exact = np.sum((y - x @ ridge) ** 2) + alpha * ridge @ ridge
    what = "sum of squares on copies at the ridge solution, against ‖y − Xw‖² + n s²‖w‖²"
    yield mean(np.sum((y - made @ ridge) ** 2, axis=2), exact, what)
    lines = {"power −1/2": (counts, away[0] * np.sqrt(counts[0] / counts))}
    title = f"{counts[-1]} jittered copies come within {away[-1]:.2g} of ridge regression with α = n s² = {alpha:.3g}"
    yield figure.curves(title, "copies K", "‖w − w_ridge‖", lines=lines, points={"copies": (counts, away)}, log="xy")


@jax.jit
def _copies(x, scale, keys):
    """Jittered copies (repeats, MOST, n, d) of all rows."""
    return jax.vmap(lambda key: aug.augment(aug.Noise(scale), jnp.tile(x, (MOST, 1, 1)), key=key))(keys)


def _fitted(copies, y):
    rows = copies.reshape(-1, copies.shape[-1])
    return learning.least_squares(rows, np.tile(y, len(copies)), intercept=False).weights


@claim(sources=("penn",), shows=("convolution.augmentation.jitter_limit",))
def jitter_augmentation_smooths(
    key, samples: Int(25, 80) = 40, noise: Real(0.1, 0.4) = 0.3, copies: Int(1000, 3000) = 2000
):
    r"""Jittered copies smooth a regression.

    With infinitely many copies (x + s ξ, y) and a flexible class the minimiser of the squared loss is the kernel
    smoother of Nadaraya and Watson with a Gaussian of width s: curvature falls as s grows, and the fit tends to the
    mean of y, so that it underfits.

    $$\hat f(u) = \frac{\sum_i y_i\, \varphi((u - x_i)/s)}{\sum_i \varphi((u - x_i)/s)}$$

    Assumes: the class contains functions near the smoother; many copies.

    Check: Cubic splines with knots at every s/2 are fitted to the copies of points on a sine, and compared with the
    smoother on the range of the data; the curvature is that of the splines, the clean error that of the smoother.
    """
    rng = data.generator(key)
    x = np.sort(rng.uniform(size=samples))
    y = np.sin(2 * np.pi * x) + noise * rng.normal(size=samples)
    grid = np.linspace(*np.quantile(x, [0.05, 0.95]), 200)
    scales = np.array([0.05, 0.1, 0.2, 0.4])
    fits, limits = [], []
    for index, s in enumerate(scales):
        made = aug.augmented_copies(
            aug.Noise(float(s)), x[:, None], y, copies, identity=False, key=jax.random.fold_in(key, index)
        )
        fits.append(_spline(made.examples[:, 0], made.labels, grid, s)(grid))
        limits.append(aug.jitter_limit(x[:, None], y, grid[:, None], s))
    fits, limits = np.array(fits), np.array(limits)
    signal = np.sqrt(np.mean(np.sin(2 * np.pi * grid) ** 2))
    rms = np.sqrt(np.mean((fits - limits) ** 2, axis=1)) / signal
    yield at_most(rms, 0.05, "spline on the copies less the smoother, root mean square over that of the signal")
    bent = np.sqrt(np.mean(np.diff(fits, 2, axis=1) ** 2, axis=1)) / (grid[1] - grid[0]) ** 2
    yield at_most(bent[1:] / bent[:-1], 1.0, "curvature at twice the jitter, as a share")
    far = aug.jitter_limit(x[:, None], y, grid[:, None], 50.0)
    yield close(far, np.full(200, y.mean()), "jitter of 50 times the range: the fit, against the mean of y", atol=2e-3)
    wide = np.geomspace(0.002, 2.0, 31)
    tried = np.array([aug.jitter_limit(x[:, None], y, grid[:, None], s) for s in wide])
    errors = np.sqrt(np.mean((tried - np.sin(2 * np.pi * grid)) ** 2, axis=1))
    best = int(errors.argmin())
    what = "error against the clean curve at the least and the largest jitter, over that at the best"
    yield at_least(errors[[0, -1]] / errors[best], 1.05, what).as_empirical()
    title = f"Fits on jittered copies lie on the smoother; clean error is least at s = {wide[best]:.2g}"
    lines = {f"smoother, s = {s:g}": (grid, limit) for s, limit in zip(scales, limits, strict=True)}
    points = {f"smoother, s = {s:g}": (grid[::8], fit[::8]) for s, fit in zip(scales, fits, strict=True)}
    left = figure.curves("lines: smoother; points: splines on copies", "x", "y", lines=lines, points=points)
    right = figure.curves(
        "error against the clean curve", "jitter s", "root mean square", lines={"smoother": (wide, errors)}, log="xy"
    )
    yield figure.beside(title, left, right)


def _spline(x, y, grid, s):
    """The cubic spline of least squares on the copies within 2 s of the grid, with knots at every s/2."""
    from scipy.interpolate import make_lsq_spline

    ends = grid[0] - 2 * s, grid[-1] + 2 * s
    inside = np.flatnonzero((x > ends[0]) & (x < ends[1]))
    rows = inside[np.argsort(x[inside])]
    knots = np.linspace(*ends, max(round((ends[1] - ends[0]) / (s / 2)), 4))
    return make_lsq_spline(x[rows], y[rows], np.r_[[ends[0]] * 3, knots, [ends[1]] * 3], 3)
