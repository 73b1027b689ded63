"""What a step with momentum remembers, and whether that helps."""

import numpy as np

from leadline import data, optimisation
from leadline.claims.scenarios.optimisation.small_regressions import logistic_problem
from leadline.evidence import Int, OneOf, Real, at_most, claim, close, erratum, exactly, instrument
from leadline.optimisation.bounds.momentum_spectrum import oscillation_angle
from leadline.presentation import figure


def crossings(values):
    """The steps at which a sequence changes sign."""
    signs = np.sign(values)
    return np.flatnonzero(signs[1:] * signs[:-1] < 0) + 1


@instrument(sources=("penn",))
def momentum_alignment(
    key, scaled_step: Real(0.01, 0.2) = 0.03, momentum: Real(0.9, 0.99) = 0.95, batch: Int(1, 64) = 8
):
    r"""Alignment of momentum and gradient.

    The cosine between the last displacement and the downhill direction tells whether inertia helps (positive) or
    opposes. On a linear function it is 1; on an underdamped quadratic w oscillates with period 2π/θ and the sign
    pattern of the cosine with half of it.

    $$\cos(w^t - w^{t-1}, -g(w^t)), \quad \cos\theta = \frac{1+\rho-\eta\lambda}{2\sqrt{\rho}}$$

    Assumes: for the period: (1 − √ρ)² < ηλ < (1 + √ρ)².

    Check: The cosine is followed for 600 steps in one dimension, and on least squares in ten dimensions with all rows
    and with batches.
    """
    plan = optimisation.constant_schedule(0.1, momentum, 50)
    slope = data.generator(key).normal(size=5)
    line = optimisation.heavy_ball_one_line(lambda w: slope, np.zeros(5), plan)
    cosine = optimisation.momentum_alignment(line, np.tile(slope, (51, 1)))
    yield close(cosine, 1.0, "cosine on a linear function", atol=1e-12)
    plan = optimisation.constant_schedule(scaled_step, momentum, 600)
    path = optimisation.heavy_ball_one_line(lambda w: w, np.ones(1), plan)
    theta = oscillation_angle(scaled_step, momentum)
    turns = np.diff(crossings(path[:, 0]))
    yield close(2 * turns.mean(), 2 * np.pi / theta, "period of w, against 2π/θ", atol=1.0)
    changes = crossings(optimisation.momentum_alignment(path, path))
    changes = changes[: len(changes) // 2 * 2 - 1]  # whole periods: each has two changes
    period = 2 * (changes[-1] - changes[0]) / (len(changes) - 1)
    yield close(period, np.pi / theta, "period of the cosine's sign, against π/θ", atol=1.0)
    rng = data.generator(key)
    x = rng.normal(size=(256, 10)) * np.geomspace(1, 0.1, 10)
    y = x @ rng.normal(size=10) + 0.3 * rng.normal(size=256)
    plan = optimisation.constant_schedule(scaled_step / np.linalg.norm(x, 2) ** 2 * 256, momentum, 150)

    def cosines(rows):
        """Heavy ball whose gradient at t is taken over rows(), and the loss on all data."""
        noted = []

        def gradient(w):
            i = rows()
            noted.append(x[i].T @ (x[i] @ w - y[i]) / len(y[i]))
            return noted[-1]

        points = optimisation.heavy_ball_one_line(gradient, np.zeros(10), plan)
        noted.append(gradient(points[-1]))
        loss = np.mean((points @ x.T - y) ** 2, axis=1) / 2
        return optimisation.momentum_alignment(points, np.array(noted[:151])), loss

    drawn = cosines(lambda: slice(None)), cosines(lambda: rng.integers(0, 256, batch))
    runs = dict(zip(("all rows", f"batches of {batch}"), drawn, strict=True))
    for name, (cosine, _) in runs.items():
        yield at_most(np.abs(cosine), 1.0, f"|cosine|, {name}", atol=1e-12)
    t = np.arange(1, 151)
    cosine, loss = ({name: (t, run[i][-150:]) for name, run in runs.items()} for i in (0, 1))
    title = "Alignment of step and downhill direction"
    yield figure.beside(
        f"w turns every {2 * np.pi / theta:.1f} steps at ρ = {momentum:.2g}; inertia helps and opposes in turn",
        figure.curves(title, "step t", "cosine", points=cosine, rules={"0": ("y", 0.0)}),
        figure.curves("Loss on all data", "step t", "loss", points=loss, log="y"),
    )


@claim(sources=("sheet",))
def heavy_ball_unrolled_identity(
    key,
    momentum: Real(0.1, 0.99) = 0.8,
    scaled_step: Real(0.05, 1.0) = 0.5,
    gradients: OneOf("all data", "minibatch") = "minibatch",
):
    r"""Heavy ball as a geometric sum.

    A heavy-ball step is a sum of all past gradients with geometric weights: the gradient of k steps ago has the weight
    ρᵏ. An initial velocity v adds $\rho^{t+1} v$.

    $$w^{t+1} - w^t = -\eta \sum_{k=0}^{t} \rho^{t-k} g(w^k)$$

    Assumes: constant η and ρ.

    Check: Ridge-logistic regression in 40 dimensions runs for 25 steps, and the gradients that were used are recorded.
    """
    rng = data.generator(key)
    loss = logistic_problem(rng, 0.05, samples=120, features=40)
    steps, step, recorded = 25, scaled_step / loss.constants().smoothness, []

    def taken(w):
        rows = rng.integers(0, 120, size=12) if gradients == "minibatch" else slice(None)
        recorded.append(loss.sample_gradients(w)[rows].mean(axis=0))
        return recorded[-1]

    plan, start, push = optimisation.constant_schedule(step, momentum, steps), rng.normal(size=40), rng.normal(size=40)
    lags = np.arange(steps)[:, None] - np.arange(steps)
    weights = np.where(lags >= 0, momentum ** np.maximum(lags, 0), 0.0)
    moved = np.diff(optimisation.heavy_ball_one_line(taken, start, plan), axis=0)
    noted = np.array(recorded)
    yield close(moved, -step * weights @ noted, "every step, against the sum over past gradients", atol=1e-12)
    recorded.clear()
    pushed = np.diff(optimisation.heavy_ball_one_line(taken, start, plan, velocity=push), axis=0)
    extra = momentum ** np.arange(1, steps + 1)[:, None] * push
    expected = -step * weights @ np.array(recorded) + extra
    yield close(pushed, expected, "every step from a start velocity v, with ρᵗ⁺¹v added", atol=1e-12)
    fitted = np.linalg.lstsq(-step * noted.T, moved[-1], rcond=None)[0][::-1]  # 25 gradients in 40 dimensions
    spread = np.linalg.svd(step * noted, compute_uv=False)
    exact = close(fitted, momentum ** np.arange(steps), "weights solved from the last step", atol=1e-6)
    yield exact.given(spread[-1] > 1e-8 * spread[0], "the recorded gradients are well independent")
    ago = np.arange(steps)
    lines, points = {"ρᵏ": (ago, momentum**ago)}, {"solved from the run": (ago, fitted)}
    title = f"The last step weighs the gradient of k steps ago by {momentum:.2g}ᵏ"
    yield figure.curves(title, "k steps ago", "weight in the last step", lines=lines, points=points, log="y")


@claim(sources=("eth", "sheet"))
def heavy_ball_terminal_velocity(
    key,
    step_size: Real(0.001, 10.0, log=True) = 0.1,
    momentum: Real(0.0, 0.999) = 0.9,
    slope: Real(0.1, 10.0, log=True) = 1.0,
):
    r"""Terminal velocity of heavy ball.

    Under a constant gradient d the steps grow to the terminal step −ηd/(1 − ρ), with a time constant of about 1/(1 −
    ρ) steps: at ρ = 0.9 momentum makes the steps ten times longer.

    $$w^t - w^{t-1} = -\eta \frac{1-\rho^t}{1-\rho}\, d \to -\frac{\eta d}{1-\rho}$$

    Assumes: a linear objective.

    Check: The objective l(w) = dw in one dimension is run from 0 for 40 time constants.
    """
    steps = int(40 / (1 - momentum)) + 1
    t = np.arange(1, steps + 1)

    def walk(rho, length=steps):
        plan = optimisation.constant_schedule(step_size, rho, length)
        points = optimisation.heavy_ball_velocity(lambda w: np.full_like(w, slope), np.zeros(1), plan)
        return np.diff(points[:, 0])

    moved, limit = walk(momentum), -step_size * slope / (1 - momentum)
    growth = close(moved / limit, 1 - momentum**t, "steps over their limit, against 1 − ρᵗ", atol=1e-10)
    yield growth
    yield close(moved[-1], limit, "last step, against −ηd/(1 − ρ)", rtol=1e-9)
    reached = int(np.argmax(moved / limit >= 1 - np.exp(-1))) + 1
    exact = -1 / np.log(momentum) if momentum > 0 else 0.0
    yield exactly(reached, max(1, int(np.ceil(exact - 1e-9))), "steps to 1 − 1/e of the limit, against −1/log ρ")
    yield close(exact, 1 / (1 - momentum), "−1/log ρ, against 1/(1 − ρ)", atol=1.0)
    tenfold = walk(0.9, 400)[-1] / (step_size * slope) * 0.1
    yield close(tenfold, -1.0, "limit at η = 0.1, ρ = 0.9, d = 1", atol=1e-12)
    from_one = -step_size * slope * (momentum - momentum**t) / (1 - momentum)  # Σ from τ = 1 to t − 1
    wrong = close(from_one[0], moved[0], "first step by a sum of powers from τ = 1", rtol=1e-9)
    prints = "the sum runs over τ = 1 … t − 1 (it starts at 0 with the current gradient and ends at t)"
    yield erratum(wrong, of=growth, by="eth", prints=prints)
    shown = {rho: walk(rho, 80) / (-step_size * slope) for rho in sorted({0.5, 0.9, 0.97, momentum})}
    u = np.arange(1, 81)
    lines = {f"ρ = {rho:g}": (u, (1 - rho**u) / (1 - rho)) for rho in shown}
    points = {f"ρ = {rho:g}": (u[::4], values[::4]) for rho, values in shown.items()}
    title = f"At ρ = {momentum:g} the steps grow to {1 / (1 - momentum):.4g} times ηd"
    yield figure.curves(title, "step t", "step length / (ηd)", lines=lines, points=points)
