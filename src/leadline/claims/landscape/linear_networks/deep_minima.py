"""Deep linear networks have no bad local minima, but saddles without negative curvature; and one output alone."""

import itertools

import jax
import numpy as np

from leadline import data
from leadline.claims.scenarios.landscape.white_problem import white_problem
from leadline.evidence import Int, Real, at_least, at_most, claim, close, erratum, exactly, slope
from leadline.landscape import deep_linear
from leadline.landscape.deep_linear.deep_critical import critical_layers, deep_atlas, deep_gradient, deep_loss
from leadline.presentation import figure

DEPTHS = (2, 3, 4, 5, 6)


@claim(sources=("penn",))
def deep_linear_local_minima(
    key, hidden: Int(2, 3) = 2, starts: Int(1, 10) = 3, ratio: Real(1.4, 2.0) = 1.6, scale: Real(0.25, 0.4) = 0.3
):
    r"""Deep linear networks: no bad minima.

    At any depth every local minimum of a linear network is global and every other critical point is a saddle. But from
    three layers on some saddles have no negative curvature: at 0 the Hessian vanishes and the loss falls only at order
    L, so that the time to leave is a power of the size of the start.

    $$l(0) - l(t\,v) = s_1 t^L + O(t^{2L}), \qquad \nabla^2 l(0) = 0 \;\; (L \ge 3)$$

    Assumes: $\Sigma_{xx}$ and $\Sigma_{xy}$ have full rank; $d_y \le d_x$; distinct eigenvalues of Σ.

    Check: The networks have 3 white inputs, 3 outputs, a layer of p units and then layers of 6. Minima are sought by
    L-BFGS from random starts, shaken three times. Escape times are measured by gradient descent from layers of size
    `scale` in mode 1.
    """
    from scipy.integrate import quad

    problem = white_problem(key, 3, 40, ratio ** (-2.0 * np.arange(3)))  # the largest singular value of L* is 1
    rng = data.generator(jax.random.fold_in(key, 1))
    level = problem.level(range(hidden))
    lasts, times, predicted = [], [], []
    for depth in DEPTHS:
        widths = (3, hidden, *[6] * (depth - 2), 3)
        lasts += [_minimised(problem, widths, rng) for _ in range(starts)]
        direction = [layer / np.linalg.norm(layer) for layer in critical_layers(problem, widths, [0])]
        largest = np.abs(deep_linear.deep_hessian(problem, [0 * layer for layer in direction])).max()
        if depth == 2:
            yield at_least(largest, 0.0, "depth 2: largest entry of the Hessian at 0", strict=True)
        else:
            flat = exactly(largest, 0, f"depth {depth}: largest entry of the Hessian at 0")
            yield flat
        sizes = np.geomspace(0.02, 0.15, 5)
        falls = [problem.level([]) - deep_loss(problem, [t * v for v in direction]) for t in sizes]
        yield slope(sizes, falls, depth, f"depth {depth}: order of the descent at 0", within=0.02)
        times.append(_escape(problem, [scale * v for v in direction]))
        predicted.append(quad(lambda w, L=depth: 1 / (w ** (L - 1) * (1 - w**L)), scale, 0.5 ** (1 / depth))[0])
    yield close(lasts, level, f"last loss at depths 2 to 6, {starts} starts each", atol=1e-6)
    families = deep_atlas(problem, (3, hidden, hidden, 3))
    kinds = [family.kind for family in families]
    flats = {family.indices for family in families if family.kind == "saddle without negative curvature"}
    yield exactly(kinds.count("global minimum"), 1, f"depth 3: global minima among {len(kinds)} families")
    wrongly = flats ^ {tuple(range(r)) for r in range(hidden)}
    yield exactly(len(wrongly), 0, "depth 3: sets that are a saddle not strict or {1..r}, r < p, but not both")
    wrong = at_least(families[-1].inertia[0], 1, "depth 3: negative curvatures at 0")
    prints = "a saddle has an indefinite Hessian, and the facts on two layers carry over to deep networks"
    yield erratum(wrong, of=flat, by="penn", prints=prints)
    yield close(times, predicted, "time to half of mode 1 from near 0, descent against gradient flow", rtol=0.05)
    title = f"From layers of size {scale:g} the first mode takes {times[0]:.3g} at depth 2, {times[-1]:.3g} at depth 6"
    lines, points = {"∫ dw / (w^(L−1)(s − w^L))": (DEPTHS, predicted)}, {"gradient descent": (DEPTHS, times)}
    yield figure.curves(title, "depth L", "time to half of the first mode", lines=lines, points=points, log="y")


def _minimised(problem, widths, rng) -> float:
    from scipy.optimize import minimize

    shapes = [(after, before) for before, after in itertools.pairwise(widths)]
    ends = np.cumsum([rows * columns for rows, columns in shapes])[:-1]

    def value_and_gradient(w):
        layers = [part.reshape(shape) for part, shape in zip(np.split(w, ends), shapes, strict=True)]
        gradient = deep_gradient(problem, layers)
        return deep_loss(problem, layers), np.concatenate([part.ravel() for part in gradient])

    w = np.concatenate([rng.normal(size=rows * columns) / columns**0.5 for rows, columns in shapes])
    last = np.inf
    for _ in range(4):  # a saddle at which the method stopped is left when shaken, a local minimum is not
        options = {"maxiter": 1500, "gtol": 1e-6, "ftol": 1e-13}
        found = minimize(value_and_gradient, w, jac=True, method="L-BFGS-B", options=options)
        last, w = min(last, float(found.fun)), found.x + 0.1 * rng.normal(size=w.size)
    return last


def _escape(problem, layers) -> float:
    """The time at which the product of the layers passes size ½ in descent with step size 0.05, between two steps."""
    before = 0.0
    for count in range(100_000):
        size = np.linalg.norm(deep_linear.compose_layers(layers))
        if size >= 0.5:
            return (count - (size - 0.5) / (size - before)) * 0.05
        before = size
        gradient = deep_gradient(problem, layers)
        layers = [layer - 0.05 * g for layer, g in zip(layers, gradient, strict=True)]
    return np.inf


@claim(sources=("penn",))
def scalar_output_linear_net(
    key, inputs: Int(1, 8) = 4, hidden: Int(1, 6) = 3, noise: Real(0.0, 1.0) = 0.5, starts: Int(5, 30) = 15
):
    r"""Linear networks with a single output.

    With one output Σ is the single number $\Sigma_{yx} \Sigma_{xx}^{-1} \Sigma_{xy}$, and a two-layer linear network
    has two critical levels: $\mathrm{tr}\, \Sigma_{yy}/2n$, at the family of 0, and the optimum. No critical point of
    rank 1 is a saddle.

    $$\lambda = \Sigma_{yx} \Sigma_{xx}^{-1} \Sigma_{xy}, \quad l \in \{ \frac{\mathrm{tr}\,\Sigma_{yy}}{2n},
    \frac{\mathrm{tr}\,\Sigma_{yy} - \lambda}{2n} \}$$

    Assumes: $d_y = 1$; λ > 0.

    Check: λ/n = 1; half of the searches begin near 0, and descent begins at size 10⁻⁸.
    """
    problem = deep_linear.random_problem(inputs, 1, 40, key=key, spectrum=(1.0,), noise=noise)
    rng = data.generator(jax.random.fold_in(key, 1))
    families = deep_linear.atlas(problem, hidden)
    cross = problem.sigma_yx[0]
    formula = cross @ np.linalg.solve(problem.sigma_xx, cross)
    yield close(problem.eigenvalues, formula, "λ, against Σyx Σxx⁻¹ Σxy", rtol=1e-10)
    yield exactly([len(f.indices) for f in families], [1, 0], "ranks of the families: the optimum and that of 0")
    optimum, origin = problem.loss(problem.best_map), np.sum(problem.y**2) / 80
    levels = [f.level for f in families]
    yield close(levels, [optimum, origin], "levels of the optimum and of the family of 0", rtol=1e-10, atol=1e-12)
    inertias = [deep_linear.hessian_inertia(problem.factor_hessian(*f.factors())) for f in families]
    yield exactly([n[0] for n in inertias], [0, hidden], "negative curvatures: none at rank 1, p at 0")
    ends = []
    for number in range(starts):
        size = 1.0 if number % 2 else 0.05
        start = size * rng.normal(size=(1, hidden)), size * rng.normal(size=(hidden, inputs))
        point = deep_linear.refine_critical(problem, *start)
        if point.gradient_norm < 1e-12:
            ends.append(problem.factor_loss(point.a, point.b))
    off = np.min(np.abs(np.subtract.outer([optimum, *ends], [optimum, origin])), axis=1)
    yield at_most(off, 1e-8, f"distance of the loss from a level, {len(ends)} of {starts} searches that ended")
    a, b = deep_linear.gaussian_factors(problem, hidden, 1e-8, key=jax.random.fold_in(key, 2))
    stiff = np.linalg.eigvalsh(problem.sigma_xx / 40)
    run = deep_linear.descend_factors(problem, a, b, 0.3 / (stiff[-1] * (1 + np.linalg.norm(problem.best_map))), 900)
    yield at_least(np.sum(np.abs(run.losses - origin) < 0.01), 20, "steps of descent at the level of 0")
    title = f"Descent from 0 stays at {origin:.3f}, then falls to {optimum:.3f}: the only two critical levels"
    lines = {"tr Σyy/2n": ([0, 900], [origin] * 2), "(tr Σyy − λ)/2n": ([0, 900], [optimum] * 2)}
    points = {"gradient descent": (np.arange(len(run.losses)), run.losses)}
    yield figure.curves(title, "step", "loss", lines=lines, points=points)
