"""The theorem that gradient descent converges at a geometric rate near its start, with measured constants."""

import jax
import numpy as np

from leadline import tangent
from leadline.claims.tangent.function_space.mode_decay import odd_even_digits
from leadline.evidence import Int, OneOf, at_least, at_most, claim, close, exactly, slope
from leadline.presentation import figure

FOUR = np.eye(4, 8), np.array([1.0, -1.0, 0.5, -0.5])  # orthonormal inputs
Units = OneOf("tanh", "relu")


def descents(activation, widths, seeds, key, *, accuracy=0.1, steps, within=None):
    """Certificate and descent for every width and seed on the four points, all in one compiled program."""
    x, y = FOUR
    found = []
    for i, m in enumerate(widths):
        for s in range(seeds):
            net = tangent.lecun_two_layer(8, int(m), activation, key=jax.random.fold_in(key, 1000 * i + s))
            net = net.padded(within or int(max(widths)))
            card = tangent.certify(net, x, y, accuracy=accuracy, width=int(m))
            found.append((int(m), card, tangent.certified_descent(net, x, y, card, num_steps=steps)))
    return found


@claim(sources=("cam",))
def gd_linear_convergence(
    key,
    task: OneOf("orthonormal", "digits") = "orthonormal",
    activation: Units = "relu",
    width: Int(256, 2048, log=True) = 1024,
    seeds: Int(1, 20) = 5,
    points: Int(100, 400) = 400,
):
    r"""Linear convergence of wide-network training.

    With constants measured at the start, gradient descent on a wide network shrinks the risk by a guaranteed factor at
    every step up to Kₘₐₓ. For given data the theorem tells whether it applies: on four orthonormal points it does from
    moderate widths on; on 400 digits it is silent.

    $$R_k \le \left(1 - \tfrac{\alpha}{2 \sqrt{R_0}}\right)^{k} R_0, \quad k \le K_{\max} = \left\lfloor \tfrac{\bar
    c}{\alpha} \sqrt{m / (\bar C n)} \right\rfloor, \quad \eta = \tfrac{\alpha n}{\bar c m \sqrt{R_0}}$$

    Assumes: c̄ = 0.8c and C̄ = 1.25C bound the gradient in the unit ball; α ≤ 2(c̄/C̄)√R₀.

    Check: `seeds` networks on four orthonormal points; for digits, the theorem's constants and verdict.
    """
    (x, y), _ = odd_even_digits(points)
    wide = min(width, 512)
    net = tangent.lecun_two_layer(64, wide, activation, key=jax.random.fold_in(key, 99))
    card = tangent.certify(net, x, y)
    yield exactly(card.verdict, "silent", f"verdict for {points} digits at m = {wide}: K′ = {card.needed_steps}")
    yield at_least(card.needed_steps, 10 * card.most_steps, "steps needed on the digits, against 10 K_max")
    if task == "digits":
        run = tangent.certified_descent(net, x, y, card)
        yield exactly(card.judge(run), "silent", "verdict for the digits after a run to K_max")
        bound = card.bound(card.most_steps)
        yield at_most(run.losses[1:], bound[1:], f"R_k on the digits, k = 1..K_max = {card.most_steps}")
        yield _card_figure(card, run, f"{points} digits, {activation}, m = {wide}", card.most_steps)
        return
    found = descents(activation, [width], seeds, key, steps=120)
    inside = [(run.losses[1 : k + 1], card.bound(k)[1:]) for _, card, run in found if (k := min(card.most_steps, 120))]
    measured, promised = (np.concatenate(part) for part in zip(*inside, strict=True))
    shares = measured / promised
    # A risk below the rounding of the outputs is no longer R.
    yield at_most(np.where(measured < 1e-26, 0.0, shares), 1.0, f"R_k over its bound, k = 1..K_max, {seeds} networks")
    yield exactly(sum(c.judge(run) == "violated" for _, c, run in found), 0, "runs that contradict the theorem")
    steps = [c.step * c.upper * c.constants.width / (2 * c.points) for _, c, _ in found]
    yield close(steps, 0.25, "η in units of 1/L = 2n/(C̄ m)", rtol=1e-12)
    card_4, run = found[0][1:]
    yield _card_figure(card_4, run, f"Four points, {activation}, m = {width}", min(120, 2 * card_4.needed_steps))


def _card_figure(card, run, title, steps):
    count = np.arange(min(steps, len(run.losses) - 1) + 1)
    measured = run.steps_to(card.accuracy)
    reached = f"{measured} steps measured" if measured is not None else "not reached by then"
    title = f"{title}: {card.verdict}; K_max = {card.most_steps}, K′ = {card.needed_steps} ({reached})"
    points = {"gradient descent": (count, run.losses[: len(count)])}
    lines = {"promised for k ≤ K_max": (count, card.bound(len(count) - 1))}
    rules = {f"K_max = {card.most_steps}": ("x", card.most_steps)} if card.most_steps <= count[-1] else {}
    return figure.curves(title, "step k", "R_k", points=points, lines=lines, rules=rules, log="y")


@claim(sources=("cam",))
def gd_confinement(key, activation: Units = "tanh", largest: Int(2048, 8192, log=True) = 4096, seeds: Int(2, 10) = 4):
    r"""Gradient descent stays near its start.

    While the theorem on linear convergence applies, gradient descent stays in the unit ball around its start; summing
    the geometric series bounds the length of the whole path by a multiple of $m^{-1/2}$, and so the distance falls
    with the width m. A narrow network trained longer leaves the ball.

    $$\|\theta_k - \theta_0\| \le 1 \ (k \le K_{\max}), \qquad \sum_k \|\theta_{k+1} - \theta_k\| \le \tfrac{4}{\bar c}
    \sqrt{\bar C n R_0 / m}$$

    Assumes: c̄ = 0.8c and C̄ = 1.25C bound the gradient in the unit ball.

    Check: Four orthonormal points, widths a factor of 4 apart; then four points on a line at width 50.
    """
    widths = np.array([largest // 16, largest // 4, largest])
    steps = 200
    found = descents(activation, widths, seeds, key, steps=steps)
    ends = [(run, min(card.most_steps, steps)) for _, card, run in found]
    distance, path = np.array([(run.distances[k], run.path[k]) for run, k in ends]).T
    bound = np.array([card.path_bound for _, card, _ in found])
    farthest = [run.distances[: k + 1].max() for run, k in ends]
    yield at_most(farthest, 1.0, "greatest distance from the start up to K_max")
    yield at_most(path, bound, "length of the path up to K_max, against the geometric series")
    yield at_most(distance, path, "distance, against the length of the path", rtol=1e-9)
    many = np.array([m for m, _, _ in found])
    size = np.sqrt([card.risk for _, card, _ in found])
    yield slope(many, distance / size, -0.5, "distance at K_max over √R₀, against the width", within=0.1)
    line = np.stack([np.ones(4), [-1.5, -0.5, 0.5, 1.5]], axis=1)
    narrow = [tangent.lecun_two_layer(2, 50, "tanh", key=jax.random.fold_in(key, 77 + s)) for s in range(5)]
    rates = [2 / np.linalg.eigvalsh(K)[-1] for K in tangent.family_kernels(narrow, line)]  # η = n/(2 λ_max)
    ends = tangent.train_family(narrow, line, FOUR[1], rates, until=1e-4, max_steps=4000)
    cards = [tangent.certify(net, line, FOUR[1]) for net in narrow]
    away = np.median([run.network.distance(net) for run, net in zip(ends, narrow, strict=True)])
    taken, allowed = [run.steps for run in ends], [card.most_steps for card in cards]
    yield at_least(taken, allowed, "steps at width 50 on a line, against K_max")
    yield at_least(away, 1.0, "median distance of 5 networks of width 50 on a line: outside the ball")
    yield exactly([card.verdict for card in cards], "silent", "the theorem's verdict at width 50 on a line")
    shown = {m: (card, run) for m, card, run in found}
    count = np.arange(steps + 1)
    near, far = (distance[many == m].mean() for m in (largest, widths[0]))
    title = (
        f"Distance at K_max: {far:.2g} at m = {widths[0]}, {near:.2g} at {largest}; {away:.2g} at width 50 on a line"
    )
    points = {f"m = {m}": (count, run.distances[count]) for m, (_, run) in shown.items()}
    lines = {f"m = {m}": (count[[0, -1]], [card.path_bound] * 2) for m, (card, _) in shown.items()}
    rules = {"unit ball": ("y", 1.0)}
    yield figure.curves(title, "step k", "‖θ_k − θ_0‖", points=points, lines=lines, rules=rules, log="y")
