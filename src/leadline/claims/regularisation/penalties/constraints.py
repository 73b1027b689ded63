"""Norm constraints: projected descent, its duality with a penalty, and when the constraint begins to act."""

import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, learning, optimisation, regularisation
from leadline.claims.scenarios.optimisation.small_regressions import logistic_problem
from leadline.evidence import Int, Real, assume, at_most, claim, close, erratum, exactly, method
from leadline.presentation import figure


def projected(objective, radius, start, num_steps, step_size):
    """The points of projected gradient descent, and the gradient at the last."""
    rule = regularisation.constrained(optimisation.tunable(optax.sgd, learning_rate=step_size), radius)
    run = optimisation.descend(objective, rule, jnp.asarray(start), num_steps)
    return np.asarray(run.points), np.asarray(run.gradients[-1])


@method(sources=("sheet",), shows=("regularisation.NormBall", "regularisation.constrained"))
def norm_constrained_gd(key, samples: Int(30, 200) = 60, dim: Int(2, 10) = 5, share: Real(0.1, 2.0) = 0.5):
    r"""Gradient descent under a norm constraint.

    Each step is followed by the projection onto the ball of radius r, which shortens what is too long. The limit meets
    the conditions of Karush, Kuhn and Tucker: the gradient points along θ, with a multiplier that is 0 inside.

    $$\theta_{t+1} = \Pi_r(\theta_t - \eta \nabla l(\theta_t)), \quad \Pi_r(v) = v \min\!\left(1,
    \frac{r}{\|v\|}\right); \qquad -\nabla l(\theta) = \nu\theta, \; \nu \ge 0, \; \nu\,(\|\theta\| - r) = 0$$

    Assumes: l is convex and smooth, and η at most 1/L.

    Check: Least squares; r is `share` times the norm of the free solution. The constrained minimum is also found
    from the secular equation, without descent.
    """
    rng = data.generator(key)
    x = rng.normal(size=(samples, dim))
    y = x @ rng.normal(size=dim) + rng.normal(size=samples)
    objective = optimisation.LeastSquares(x, y)
    known = objective.constants().certified()
    radius = share * float(np.linalg.norm(known.minimiser))
    steps = int(np.ceil(25 * known.smoothness / known.strong_convexity)) + 50  # (1 − 1/κ)^T < e⁻²⁵
    path, slope = projected(objective, radius, np.zeros(dim), min(steps, 4000), 1 / known.smoothness)
    end = path[-1]
    nu = max(-float(slope @ end) / float(end @ end), 0.0)
    size = known.smoothness * radius
    yield at_most(np.linalg.norm(slope + nu * end) / size, 1e-8, "‖∇l + νθ‖ at the limit, relative")
    yield at_most(nu * abs(np.linalg.norm(end) - radius) / size, 1e-8, "ν(r − ‖θ‖) at the limit, relative")
    yield at_most(np.linalg.norm(path, axis=1).max(), radius, "largest ‖θ‖ on the way, against r", rtol=1e-12)
    risk = learning.empirical_moments(x, y)
    other = learning.ball_minimum(risk, radius)
    yield close(end, other.argument, "limit of projected descent, against the secular equation", atol=1e-7 * radius)
    yield close(nu, other.multiplier, "multiplier, against that of the secular equation", atol=1e-7 * known.smoothness)
    yield _path_in_two()


def _path_in_two():
    """The projected path in two dimensions, over level sets, with the ball."""
    bowl = optimisation.Quadratic(jnp.array([[1.0, 0.6], [0.6, 2.0]]), jnp.array([2.2, 3.2]))
    path, _ = projected(bowl, 1.0, np.zeros(2), 40, 0.2)
    grid = np.linspace(-1.2, 2.2, 60)
    spots = np.stack(np.meshgrid(grid, grid), axis=-1)
    heights = np.asarray(bowl.gap(spots))
    turn = np.linspace(0, 2 * np.pi, 121)
    free = bowl.constants().minimiser
    return figure.plane(
        "Projected descent reaches the ball's edge and slides along it to the constrained minimum",
        "θ₁",
        "θ₂",
        points={"iterates": path, "free minimum": free[None]},
        lines={"‖θ‖ = r": (np.cos(turn), np.sin(turn)), "path": (path[:, 0], path[:, 1])},
        regions=(grid, grid, -np.sqrt(heights)),
        domain=((-1.2, 2.2), (-1.2, 2.2)),
    )


@claim(sources=("eth", "sheet"), shows=("regularisation.constrained",))
def penalty_constraint_duality(
    key, samples: Int(20, 200) = 50, dim: Int(2, 8) = 4, penalty: Real(0.03, 3.0, log=True) = 0.3
):
    r"""A penalty is a norm constraint.

    For convex l the minimiser θ(μ) of l + (μ/2)‖θ‖² also minimises l on the ball of radius r(μ) = ‖θ(μ)‖, and μ is the
    multiplier of that constraint. The larger μ, the smaller r(μ).

    $$\theta_\mu = \operatorname{argmin}_{\|\theta\| \le r(\mu)} l(\theta), \qquad r(\mu) = \|\theta_\mu\|
    \text{ nonincreasing}, \qquad \nu = \mu$$

    Assumes: l is convex.

    Check: Least squares, whose minimum on a ball comes from the secular equation, and logistic regression, whose
    minimum on a ball comes from projected descent.
    """
    rng = data.generator(key)
    x = rng.normal(size=(samples, dim))
    y = x @ rng.normal(size=dim) + rng.normal(size=samples)
    mus = np.geomspace(penalty / 30, penalty * 30, 25)
    thetas = learning.ridge_fits(x, y, mus, intercept=False).weights  # (1/n)‖y − Xθ‖² + μ‖θ‖²
    radii = np.linalg.norm(thetas, axis=1)
    balls = [learning.ball_minimum(learning.empirical_moments(x, y), float(r)) for r in radii]
    atol = 1e-6 * radii[0]
    yield close(
        np.array([b.argument for b in balls]), thetas, "least squares: minimum on the ball, against θ_μ", atol=atol
    )
    yield close(
        [float(b.multiplier) for b in balls], mus, "least squares: multiplier of the ball, against μ", rtol=1e-6
    )
    falls = at_most(np.diff(radii), 0.0, "change of r(μ) as μ grows", strict=True)
    yield falls
    what = "radius of the ball that gives θ_μ, against μ itself"
    wrong = close(radii, mus, what, rtol=1e-2)
    yield erratum(wrong, of=falls, by="eth", prints="the constraint is ‖θ‖ ≤ μ; μ is its multiplier")
    logistic = logistic_problem(rng, penalty, samples, dim)
    best = logistic.constants().certified()
    free = optimisation.LogisticRidge(logistic.x, logistic.y, 0.0)
    radius = float(np.linalg.norm(best.minimiser))
    step = 1 / (best.smoothness - penalty)
    steps = int(min(30 * best.smoothness / penalty + 100, 4000))  # on the sphere the multiplier is curvature enough
    path, slope = projected(free, radius, 0 * best.minimiser, steps, step)
    end = path[-1]
    yield close(
        end, best.minimiser, "logistic: minimum on the ball by projected descent, against θ_μ", atol=1e-6 * radius
    )
    nu = -float(slope @ end) / float(end @ end)
    yield close(nu, penalty, "logistic: multiplier of the ball, against μ", rtol=1e-6)
    title = f"The larger the penalty, the smaller the ball: r({penalty:.2g}) = {np.interp(penalty, mus, radii):.2g}"
    multipliers = [float(b.multiplier) for b in balls]
    lines, points = {"r(μ) = ‖θ(μ)‖": (mus, radii)}, {"radius and multiplier of the ball": (multipliers, radii)}
    lines["‖θ‖ = μ"] = (mus[mus < 2 * radii[0]], mus[mus < 2 * radii[0]])
    yield figure.curves(title, "penalty μ", "radius r", log="x", lines=lines, points=points)


@claim(sources=("sheet",), shows=("regularisation.constrained", "regularisation.decoupled_decay"))
def norm_constraint_acts_late(
    key, samples: Int(20, 100) = 40, share: Real(0.3, 0.95) = 0.6, decay: Real(0.01, 0.3, log=True) = 0.1
):
    r"""A norm constraint acts late.

    From a start inside the ball, projected descent is plain descent until the plain iterates first leave the ball.
    Weight decay differs from the first step on.

    $$\theta^{\mathrm{proj}}_t = \theta_t \;\; (t < T), \quad T = \min\{t : \|\theta_t\| > r\}; \qquad
    \|\theta^{\mathrm{decay}}_1 - \theta_1\| = \eta\mu\|\theta_0\|$$

    Assumes: ‖θ₀‖ < r; ημ ≤ 2.

    Check: Logistic regression; r is `share` of the norm that plain descent reaches in 200 steps, ‖θ₀‖ = 0.01. A ball
    that no iterate leaves gives the same iterates bit for bit. Plain SGD is another compiled program, which rounds
    otherwise: steps with η = 1/(20L) do not expand what rounding adds, so that t steps are apart by at most t of them.
    """
    rng = data.generator(key)
    loss = logistic_problem(rng, 0.0, samples)
    eta = 1 / (20 * loss.constants().smoothness)
    assume(eta * decay <= 2, "ημ is at most 2, beyond which weight decay lets free weights grow")
    direction = rng.normal(size=loss.x.shape[1])
    plain = optimisation.tunable(optax.sgd, learning_rate=eta)
    first = jnp.asarray(direction / np.linalg.norm(direction) / 100)
    by_sgd = np.asarray(optimisation.descend(loss, plain, first, 200).points)
    free, _ = projected(loss, 2 * np.linalg.norm(by_sgd, axis=1).max(), first, 200, eta)
    norms = np.linalg.norm(free, axis=1)
    # A step sums samples + dim products, each rounded, of terms of this size.
    terms = norms.max() + eta * np.linalg.norm(loss.x, axis=1).max()
    rounding = 200 * (loss.x.shape[0] + loss.x.shape[1]) * np.finfo(float).eps * terms
    yield close(free, by_sgd, "iterates in a ball that none of them leaves, against plain SGD", atol=rounding)
    shares = np.array([0.2, 0.4, 0.6, 0.8]) * share
    radius = share * norms[-1]
    bound, _ = projected(loss, radius, first, 200, eta)
    hit = int(np.argmax(norms > radius))
    what = f"projected iterates before step {hit}, against those of a ball that none leaves"
    yield exactly(bound[:hit], free[:hit], what)
    what = "distance of projected from plain iterates, when these leave the ball: what is cut off"
    yield close(np.linalg.norm(bound[hit] - free[hit]), norms[hit] - radius, what, rtol=1e-9, atol=1e-13)
    hits = [int(np.argmax(norms > s * norms[-1])) for s in shares]
    found = []
    for s in shares:
        path, _ = projected(loss, s * norms[-1], first, 200, eta)
        found.append(int(np.argmax(np.any(path != free, axis=1))))
    yield exactly(found, hits, "first step that differs, at four smaller radii")
    decayed = regularisation.decoupled_decay(plain, eta, decay, group=regularisation.everything)
    other = np.asarray(optimisation.descend(loss, decayed, first, 200).points)
    what = "distance of the decayed from the plain iterate after one step, against ημ‖θ₀‖"
    yield close(np.linalg.norm(other[1] - by_sgd[1]), eta * decay * np.linalg.norm(first), what, rtol=1e-9)
    t = np.arange(201)
    points = {
        name: (t, np.linalg.norm(path, axis=1))
        for name, path in (("plain", free), ("projected", bound), ("decay", other))
    }
    title = f"The constraint acts from step {hit} on, weight decay from the first"
    yield figure.curves(title, "step", "‖θ‖", points=points, rules={"r": ("y", radius)})
