"""The theorem that gradient descent converges at a geometric rate near its start, with measured constants."""

from typing import Annotated

import jax
import numpy as np

from leadline import tangent
from leadline.claims.tangent.mode_decay import odd_even_digits
from leadline.evidence import Choice, Range, at_least, at_most, claim, close, exactly, figure, slope

FOUR = np.eye(4, 8), np.array([1.0, -1.0, 0.5, -0.5])  # orthonormal inputs
Units = Annotated[str, Choice("tanh", "relu")]


def descents(activation, widths, seeds, key, *, accuracy=0.1, steps, within=None):
    """Certificate and descent for every width and seed on the four points, all in one compiled program."""
    x, y = FOUR
    found = []
    for i, m in enumerate(widths):
        for s in range(seeds):
            net = tangent.lecun_two_layer(8, int(m), activation, key=jax.random.fold_in(key, 1000 * i + s))
            net = net.padded(within or int(max(widths)))
            card = tangent.certify(net, x, y, accuracy=accuracy, width=int(m))
            found.append((int(m), card, tangent.certified_descent(net, x, y, card, steps=steps)))
    return found


@claim(
    "gd-linear-convergence",
    says=(
        "With constants measured at the start, gradient descent on a wide network shrinks the risk by a promised "
        "factor at every step up to K_max. The theorem says for given data whether it applies: on four orthonormal "
        "points it does from moderate widths; on 400 digits it is silent."
    ),
    formula=r"R_k \le \left(1 - \tfrac{\alpha}{2 \sqrt{R_0}}\right)^{k} R_0, \quad k \le K_{\max} = \left\lfloor "
    r"\tfrac{\bar c}{\alpha} \sqrt{m / (\bar C n)} \right\rfloor, \quad \eta = \tfrac{\alpha n}{\bar c m \sqrt{R_0}}",
    sources=("cam",),
    assumes=("c̄ = 0.8 c and C̄ = 1.25 C bound the gradient in the unit ball", "α ≤ 2 (c̄/C̄) √R₀"),
    shows=("tangent.certify", "tangent.Certificate", "tangent.certified_descent", "tangent.CertifiedRun"),
)
def gd_linear_convergence(
    key,
    task: Annotated[str, Choice("orthonormal", "digits")] = "orthonormal",
    activation: Units = "relu",
    width: Annotated[int, Range(256, 2048, log=True)] = 1024,
    seeds: Annotated[int, Range(1, 20)] = 5,
    points: Annotated[int, Range(100, 400)] = 400,
):
    """Five networks on the four points (`orthonormal`); and the theorem's card for the digits, even against odd."""
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
    yield close(
        [c.step * c.upper * c.constants.width / (2 * c.points) for _, c, _ in found],
        0.25, "η in units of 1/L = 2n/(C̄ m)", rtol=1e-12,
    )  # fmt: skip
    card_4, run = found[0][1:]
    yield _card_figure(card_4, run, f"Four points, {activation}, m = {width}", min(120, 2 * card_4.needed_steps))


def _card_figure(card, run, title, steps):
    count = np.arange(min(steps, len(run.losses) - 1) + 1)
    measured = run.steps_to(card.accuracy)
    reached = f"{measured} steps measured" if measured is not None else "not reached by then"
    return figure.curves(
        f"{title}: {card.verdict}; c = {card.constants.lower:.2g}, C = {card.constants.upper:.3g}, rate "
        f"{card.rate:.5g}, K_max = {card.most_steps}, K′ = {card.needed_steps} to {card.accuracy:g} R₀ ({reached})",
        x="step k",
        y="R_k",
        points={"gradient descent": (count, run.losses[: len(count)])},
        lines={"promised for k ≤ K_max": (count, card.bound(len(count) - 1))},
        rules={f"K_max = {card.most_steps}": ("x", card.most_steps)} if card.most_steps <= count[-1] else {},
        log="y",
    )


@claim(
    "gd-confinement",
    says=(
        "While the theorem holds, gradient descent stays in the unit ball around its start; summing the geometric "
        "series bounds the whole path by a multiple of m^(−1/2), and so the distance falls. A narrow network trained "
        "longer leaves the ball."
    ),
    formula=r"\|\theta_k - \theta_0\| \le 1 \ (k \le K_{\max}), \qquad \sum_k \|\theta_{k+1} - \theta_k\| \le "
    r"\tfrac{4}{\bar c} \sqrt{\bar C n R_0 / m}",
    sources=("cam",),
    assumes=("c̄ = 0.8 c and C̄ = 1.25 C bound the gradient in the unit ball",),
)
def gd_confinement(
    key,
    activation: Units = "tanh",
    largest: Annotated[int, Range(2048, 8192, log=True)] = 4096,
    seeds: Annotated[int, Range(2, 10)] = 4,
):
    """Four orthonormal points; widths a factor 4 apart; then the four points on a line at width 50 of lazy training."""
    widths = np.array([largest // 16, largest // 4, largest])
    steps = 200
    found = descents(activation, widths, seeds, key, steps=steps)
    last = [min(card.most_steps, steps) for _, card, _ in found]
    distance = np.array([run.distances[k] for (_, _, run), k in zip(found, last, strict=True)])
    path = np.array([run.path[k] for (_, _, run), k in zip(found, last, strict=True)])
    bound = np.array([card.path_bound for _, card, _ in found])
    yield at_most([run.distances[: k + 1].max() for (_, _, run), k in zip(found, last, strict=True)], 1.0,
                  "greatest distance from the start up to K_max")  # fmt: skip
    yield at_most(path, bound, "length of the path up to K_max, against the geometric series")
    yield at_most(distance, path, "distance, against the length of the path", rtol=1e-9)
    many = np.array([m for m, _, _ in found])
    size = np.sqrt([card.risk for _, card, _ in found])
    yield slope(many, distance / size, -0.5, "distance at K_max over √R₀, against the width", within=0.1)

    line = np.stack([np.ones(4), [-1.5, -0.5, 0.5, 1.5]], axis=1)
    narrow = [tangent.lecun_two_layer(2, 50, "tanh", key=jax.random.fold_in(key, 77 + s)) for s in range(5)]
    rates = [2 / np.linalg.eigvalsh(K)[-1] for K in tangent.family_kernels(narrow, line)]  # η = n/(2 λ_max)
    ends = tangent.train_family(narrow, line, FOUR[1], rates, until=1e-4, most=4000)
    cards = [tangent.certify(net, line, FOUR[1]) for net in narrow]
    away = float(np.median([run.network.distance(net) for run, net in zip(ends, narrow, strict=True)]))
    yield at_least(
        [run.steps for run in ends], [card.most_steps for card in cards], "steps at width 50 on a line, against K_max"
    )
    yield at_least(away, 1.0, "median distance of 5 networks of width 50 on a line: outside the ball")
    yield exactly([card.verdict for card in cards], "silent", "the theorem's verdict for them")
    shown = {m: (card, run) for m, card, run in found}
    count = np.arange(0, steps + 1, 4)
    title = (
        f"Distance at K_max: {distance[many == widths[0]].mean():.2g} at m = {widths[0]}, "
        f"{distance[many == largest].mean():.2g} at {largest}; bounds 1 and the path's "
        f"{bound[many == largest].mean():.2g}; at width 50 on a line it ends {away:.2g} away"
    )
    yield figure.curves(
        title,
        x="step k",
        y="‖θ_k − θ_0‖",
        points={f"m = {m}": (count, run.distances[count]) for m, (_, run) in shown.items()},
        lines={f"m = {m}": (count[[0, -1]], [card.path_bound] * 2) for m, (card, _) in shown.items()},
        rules={"unit ball": ("y", 1.0)},
        log="y",
    )
