"""How many families of saddles a two-layer linear network has, and the way out of each."""

from math import comb
from typing import Annotated

import jax
import numpy as np

from leadline import deep_linear
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, printed


@claim(
    "saddle-family-count",
    says=(
        "There are C(d, p) families of critical points of full rank and Σ_{r≤p} C(d, r) in all; each but one is a "
        "strict saddle, left by turning some u_i of it towards a missing u_j with λ_j > λ_i, or a zero unit towards "
        "a missing u_j. C(d, p) is largest at p = d/2."
    ),
    formula=r"\#(p) = \sum_{r \le p} \binom{d}{r}, \qquad \frac{d^2 l}{dt^2} = -\frac{\lambda_j - \lambda_i}{n}",
    sources=("penn",),
    assumes=("Σ has full rank d and distinct eigenvalues",),
    shows=("deep_linear.count_families", "deep_linear.atlas"),
)
def saddle_family_count(
    key,
    d: Annotated[int, Range(3, 10)] = 10,
    small: Annotated[int, Range(3, 5)] = 5,
    hidden: Annotated[int, Range(1, 3)] = 2,
    extra: Annotated[int, Range(0, 2)] = 1,
    ratio: Annotated[float, Range(1.3, 2.0)] = 1.5,
):
    """Families listed one by one for d eigenvalues and every p; escapes from all saddles of a smaller problem."""
    values = 1.1 ** -np.arange(d)
    problem = deep_linear.random_problem(d, d, 40, key=key, spectrum=values)
    widths = np.arange(1, d + 1)
    listed = [deep_linear.atlas_columns(deep_linear.atlas(problem, int(p)))["size"] for p in widths]
    full = np.array([1, *(int(np.sum(sizes == p)) for p, sizes in zip(widths, listed, strict=True))])
    every = np.array([1, *(len(sizes) for sizes in listed)])
    every_width = np.arange(d + 1)
    yield exactly(full, [comb(d, int(p)) for p in every_width], "families of full rank, p = 0 to d, listed and C(d, p)")
    yield exactly(full, [1, 10, 45, 120, 210, 252, 210, 120, 45, 10, 1] if d == 10 else 0, "the same, d = 10").given(
        d == 10, "d = 10"
    )
    counted = [deep_linear.count_families(d, int(p)) for p in every_width]
    yield exactly(every, counted, "all families, listed and Σ_{r≤p} C(d, r)")
    yield exactly(abs(int(full.argmax()) - d / 2) <= 0.5, True, "C(d, p) is largest at p = d/2")
    yield printed(
        at_least(np.diff(full), 0, "families of full rank that one more hidden unit adds"),
        "penn", "fewer hidden units mean fewer saddles",
    )  # fmt: skip
    sizes = np.arange(2, 61, 2)
    halves, pairs = ([comb(int(m), k(int(m))) for m in sizes] for k in (lambda m: m // 2, lambda m: 2))
    yield at_least(np.log2(halves), sizes - np.log2(sizes + 1), "p = d/2: log₂ of the count, at least d − log₂(d + 1)")
    yield at_most(pairs, sizes**2 / 2, "p = 2: the count, at most d²/2")

    little = deep_linear.random_problem(
        small + extra, small, 40, key=jax.random.fold_in(key, 1), spectrum=ratio ** -np.arange(small)
    )
    bent, said, least = [], [], []
    for family in deep_linear.atlas(little, hidden)[1:]:
        hessian, h = little.factor_hessian(*family.factors()), 1e-4
        ends = [np.concatenate([part.ravel() for part in family.escape_curve(t)]) for t in (h, -h)]
        direction = (ends[0] - ends[1]) / (2 * h)
        bent.append(direction @ hessian @ direction)
        said.append(family.escape.curvature)
        least.append(np.linalg.eigvalsh(hessian)[0] * (direction @ direction))
    yield close(bent, said, f"curvature along the named escape, all {len(said)} saddles", rtol=1e-6)
    yield at_most(said, 0.0, "the same is below 0", strict=True)
    yield at_most(
        np.array(least) - bent, 0.0, "least Hessian eigenvalue, at most the curvature of the escape", atol=1e-12
    )
    yield figure.curves(
        f"d = {d}: families of full rank peak at p = {int(full.argmax())} ({full.max()}) and fall again; all families "
        f"rise to {every[-1]}",
        x="hidden units p",
        y="families of critical points",
        lines={
            "C(d, p)": (every_width, [comb(d, int(p)) for p in every_width]),
            "Σ C(d, r), r ≤ p": (every_width, counted),
        },
        points={"C(d, p)": (every_width, full), "Σ C(d, r), r ≤ p": (every_width, every)},
    )
