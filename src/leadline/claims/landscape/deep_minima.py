"""Deep linear networks have no bad local minima, but saddles without negative curvature; and one output alone."""

import itertools
from typing import Annotated

import jax
import numpy as np

from leadline import data, deep_linear
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, printed, slope

DEPTHS = (2, 3, 4, 5, 6)


@claim(
    "deep-linear-local-minima",
    says=(
        "At any depth every local minimum of a linear network is global and every other critical point a saddle. But "
        "from three layers on some saddles have no negative curvature: at 0 the Hessian vanishes and the loss falls "
        "only at order L, so that leaving takes a time that is a power of the start."
    ),
    formula=r"l(0) - l(t\,v) = s_1 t^L + O(t^{2L}), \qquad \nabla^2 l(0) = 0 \;\; (L \ge 3)",
    sources=("penn",),
    assumes=("Σxx and Σxy have full rank", "d_y ≤ d_x", "distinct eigenvalues of Σ"),
    shows=("deep_linear.deep_atlas", "deep_linear.deep_hessian", "deep_linear.critical_layers"),
)
def deep_linear_local_minima(
    key,
    hidden: Annotated[int, Range(2, 3)] = 2,
    starts: Annotated[int, Range(1, 10)] = 3,
    ratio: Annotated[float, Range(1.4, 2.0)] = 1.6,
    scale: Annotated[float, Range(0.25, 0.4)] = 0.3,
):
    """3 white inputs, 3 outputs, a layer of p units, then layers of 6; L-BFGS, shaken three times, from random starts;
    descent from layers of size `scale` in mode 1."""
    from scipy.integrate import quad

    drawn = deep_linear.random_problem(3, 3, 40, key=key, spectrum=ratio ** (-2.0 * np.arange(3)))
    problem = deep_linear.LinearProblem(np.linalg.solve(np.linalg.cholesky(drawn.sigma_xx / 40), drawn.x), drawn.y)
    rng = data.generator(jax.random.fold_in(key, 1))
    level = problem.level(range(hidden))
    top = 1.0  # the largest singular value of L*
    lasts, times, predicted = [], [], []
    for depth in DEPTHS:
        widths = (3, hidden, *[6] * (depth - 2), 3)
        lasts += [_minimised(problem, widths, rng) for _ in range(starts)]
        direction = [layer / np.linalg.norm(layer) for layer in deep_linear.critical_layers(problem, widths, [0])]
        flat = deep_linear.deep_hessian(problem, [0 * layer for layer in direction])
        yield exactly(bool((flat == 0).all()), depth > 2, f"depth {depth}: the Hessian at 0 is 0")
        sizes = np.geomspace(0.02, 0.15, 5)
        falls = [problem.level([]) - deep_linear.deep_loss(problem, [t * v for v in direction]) for t in sizes]
        yield slope(sizes, falls, depth, f"depth {depth}: order of the descent at 0", within=0.02)
        times.append(_escape(problem, [scale * v for v in direction], top / 2))
        predicted.append(quad(lambda w, L=depth: 1 / (w ** (L - 1) * (top - w**L)), scale, (top / 2) ** (1 / depth))[0])
    yield close(lasts, level, f"last loss at depths 2 to 6, {starts} starts each", atol=1e-6)
    families = deep_linear.deep_atlas(problem, (3, hidden, hidden, 3))
    kinds = [family.kind for family in families]
    flats = [family.indices for family in families if family.kind == "saddle without negative curvature"]
    yield exactly(kinds.count("global minimum"), 1, f"depth 3: global minima among {len(kinds)} families")
    yield exactly(
        sorted(flats) == [tuple(range(r)) for r in range(hidden)],
        True,
        "depth 3: {1..r}, r < p, are the saddles not strict",
    )
    origin = families[-1].inertia[0]
    yield printed(
        at_least(origin, 1, "negative curvatures at 0, depth 3"),
        "penn",
        "the facts on two layers hold for deep networks",
    )
    yield close(times, predicted, "time to half of mode 1 from near 0, descent against gradient flow", rtol=0.05)
    yield figure.curves(
        f"From layers of size {scale:g} the first mode takes {times[0]:.3g} units of time at depth 2, {times[-1]:.3g} "
        "at depth 6",
        x="depth L",
        y="time to half of the first mode",
        lines={"∫ dw / (w^(L−1)(s − w^L))": (DEPTHS, predicted)},
        points={"gradient descent": (DEPTHS, times)},
        log="y",
    )


def _minimised(problem, widths, rng) -> float:
    from scipy.optimize import minimize

    shapes = [(after, before) for before, after in itertools.pairwise(widths)]
    ends = np.cumsum([rows * columns for rows, columns in shapes])[:-1]

    def value_and_gradient(w):
        layers = [part.reshape(shape) for part, shape in zip(np.split(w, ends), shapes, strict=True)]
        gradient = deep_linear.deep_gradient(problem, layers)
        return deep_linear.deep_loss(problem, layers), np.concatenate([part.ravel() for part in gradient])

    w = np.concatenate([rng.normal(size=rows * columns) / columns**0.5 for rows, columns in shapes])
    last = np.inf
    for _ in range(4):  # a saddle at which the method stopped is left when shaken, a local minimum is not
        options = {"maxiter": 1500, "gtol": 1e-6, "ftol": 1e-13}
        found = minimize(value_and_gradient, w, jac=True, method="L-BFGS-B", options=options)
        last, w = min(last, float(found.fun)), found.x + 0.1 * rng.normal(size=w.size)
    return last


def _escape(problem, layers, half: float, step: float = 0.05) -> float:
    """The time at which the product of the layers passes this size, between two steps."""
    before = 0.0
    for count in range(100_000):
        size = np.linalg.norm(deep_linear.compose_layers(layers))
        if size >= half:
            return (count - (size - half) / (size - before)) * step
        before = size
        gradient = deep_linear.deep_gradient(problem, layers)
        layers = [layer - step * g for layer, g in zip(layers, gradient, strict=True)]
    return np.inf


@claim(
    "scalar-output-linear-net",
    says=(
        "With one output Σ is the single number Σyx Σxx⁻¹ Σxy, and a two-layer linear network has two critical levels: "
        "tr Σyy/2n, at the family of 0, and the optimum. No critical point of rank 1 is a saddle."
    ),
    formula=r"\lambda = \Sigma_{yx} \Sigma_{xx}^{-1} \Sigma_{xy}, \quad l \in \{ \frac{tr\,\Sigma_{yy}}{2n}, "
    r"\frac{tr\,\Sigma_{yy} - \lambda}{2n} \}",
    sources=("penn",),
    assumes=("d_y = 1", "λ > 0"),
    shows=("deep_linear.atlas",),
)
def scalar_output_linear_net(
    key,
    inputs: Annotated[int, Range(1, 8)] = 4,
    hidden: Annotated[int, Range(1, 6)] = 3,
    noise: Annotated[float, Range(0.0, 1.0)] = 0.5,
    starts: Annotated[int, Range(5, 30)] = 15,
):
    """λ/n = 1, 40 samples; searches for critical points from random starts, half of them near 0; descent from 1e-8."""
    problem = deep_linear.random_problem(inputs, 1, 40, key=key, spectrum=(1.0,), noise=noise)
    rng = data.generator(jax.random.fold_in(key, 1))
    families = deep_linear.atlas(problem, hidden)
    cross = problem.sigma_yx[0]
    yield close(problem.eigenvalues, cross @ np.linalg.solve(problem.sigma_xx, cross), "λ", rtol=1e-10)
    yield exactly([f.indices for f in families] == [(0,), ()], True, "families: the optimum and that of 0")
    optimum, origin = problem.loss(problem.best_map), np.sum(problem.y**2) / 80
    yield close([f.level for f in families], [optimum, origin], "the two levels", rtol=1e-10, atol=1e-12)
    inertias = [deep_linear.hessian_inertia(problem.factor_hessian(*f.factors())) for f in families]
    yield exactly([n[0] for n in inertias], [0, hidden], "negative curvatures: none at rank 1, p at 0")
    ends = []
    for number in range(starts):
        size = 1.0 if number % 2 else 0.05
        point = deep_linear.refine_critical(
            problem, size * rng.normal(size=(1, hidden)), size * rng.normal(size=(hidden, inputs))
        )
        if point.gradient_norm < 1e-12:
            ends.append(problem.factor_loss(point.a, point.b))
    off = np.min(np.abs(np.subtract.outer([optimum, *ends], [optimum, origin])), axis=1)
    yield at_most(off, 1e-8, f"distance of the loss from a level, {len(ends)} of {starts} searches that ended")

    a, b = deep_linear.gaussian_factors(problem, hidden, 1e-8, key=jax.random.fold_in(key, 2))
    stiff = np.linalg.eigvalsh(problem.sigma_xx / 40)
    run = deep_linear.descend_factors(problem, a, b, 0.3 / (stiff[-1] * (1 + np.linalg.norm(problem.best_map))), 900)
    yield at_least(int(np.sum(np.abs(run.losses - origin) < 0.01)), 20, "steps at the level of 0")
    shown = np.unique(np.linspace(0, 900, 120).astype(int))
    yield figure.curves(
        f"Descent from 0 stays at {origin:.3f}, then falls to {optimum:.3f}: the only two critical levels",
        x="step",
        y="loss",
        lines={"tr Σyy/2n": ([0, 900], [origin] * 2), "(tr Σyy − λ)/2n": ([0, 900], [optimum] * 2)},
        points={"gradient descent": (shown, run.losses[shown])},
    )
