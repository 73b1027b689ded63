"""How many families of saddles a two-layer linear network has, and the way out of each."""

from math import comb

import jax
import numpy as np

from leadline.evidence import Int, Real, at_least, at_most, claim, close, exactly
from leadline.landscape import deep_linear
from leadline.landscape.deep_linear.critical_atlas import atlas_columns
from leadline.presentation import figure


@claim(sources=("penn",))
def saddle_family_count(
    key,
    d: Int(3, 10) = 10,
    small: Int(3, 5) = 5,
    hidden: Int(1, 3) = 2,
    extra: Int(0, 2) = 1,
    ratio: Real(1.3, 2.0) = 1.5,
):
    r"""Number of saddle families.

    There are $\binom{d}{p}$ families of critical points of full rank and $\sum_{r \le p} \binom{d}{r}$ in all. Each
    but one is a strict saddle, which is left by turning one of its uᵢ towards a missing uⱼ with λⱼ > λᵢ, or a zero
    unit towards a missing uⱼ. $\binom{d}{p}$ is largest at p = d/2.

    $$\#(p) = \sum_{r \le p} \binom{d}{r}, \qquad \frac{d^2 l}{dt^2} = -\frac{\lambda_j - \lambda_i}{n}$$

    Assumes: Σ has full rank d and distinct eigenvalues.
    """
    problem = deep_linear.random_problem(d, d, 40, key=key, spectrum=1.1 ** -np.arange(d))
    widths = range(d + 1)
    listed = [atlas_columns(deep_linear.atlas(problem, p))["size"] for p in widths[1:]]
    full = np.array([1, *(np.sum(sizes == p) for p, sizes in enumerate(listed, 1))])
    every, counted = [1, *map(len, listed)], [deep_linear.count_families(d, p) for p in widths]
    binomials = [comb(d, p) for p in widths]
    yield exactly(full, binomials, "families of full rank, p = 0 to d, listed and C(d, p)")
    known = [1, 10, 45, 120, 210, 252, 210, 120, 45, 10, 1] if d == 10 else 0
    yield exactly(full, known, "families of full rank for d = 10, p = 0 to 10").given(d == 10, "d = 10")
    yield exactly(every, counted, "all families, listed and Σ_{r≤p} C(d, r)")
    yield at_most(abs(full.argmax() - d / 2), 0.5, "distance from d/2 of the p with most families of full rank")
    sizes = np.arange(2, 61, 2)
    halves, pairs = [comb(m, m // 2) for m in sizes.tolist()], [comb(m, 2) for m in sizes.tolist()]
    yield at_least(np.log2(halves), sizes - np.log2(sizes + 1), "p = d/2: log₂ of the count, at least d − log₂(d + 1)")
    yield at_most(pairs, sizes**2 / 2, "p = 2: the count, at most d²/2")
    spectrum, later = ratio ** -np.arange(small), jax.random.fold_in(key, 1)
    little = deep_linear.random_problem(small + extra, small, 40, key=later, spectrum=spectrum)
    bent, said, least = [], [], []
    for family in deep_linear.atlas(little, hidden)[1:]:
        hessian, h = little.factor_hessian(*family.factors()), 1e-4
        ends = [np.concatenate([part.ravel() for part in family.escape_curve(t)]) for t in (h, -h)]
        direction = (ends[0] - ends[1]) / (2 * h)
        bent.append(direction @ hessian @ direction)
        said.append(family.escape.curvature)
        least.append(np.linalg.eigvalsh(hessian)[0] * (direction @ direction))
    yield close(bent, said, f"curvature along the named escape, all {len(said)} saddles", rtol=1e-6)
    yield at_most(said, 0.0, f"curvature along the named escape, all {len(said)} saddles: negative", strict=True)
    yield at_most(np.array(least) - bent, 0.0, "least Hessian eigenvalue, less the curvature of the escape", atol=1e-12)
    title = f"Families of full rank peak at p = {full.argmax()} ({full.max()}); all families rise to {every[-1]}"
    lines = {"C(d, p)": (widths, binomials), "Σ C(d, r), r ≤ p": (widths, counted)}
    points = {"C(d, p)": (widths, full), "Σ C(d, r), r ≤ p": (widths, every)}
    yield figure.curves(title, "hidden units p", "families of critical points", lines=lines, points=points)
