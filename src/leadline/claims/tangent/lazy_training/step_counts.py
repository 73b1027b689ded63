"""How many steps the theorem of geometric convergence promises, and that the width does not enter the rate."""

import jax
import numpy as np

from leadline import tangent
from leadline.claims.tangent.lazy_training.convergence import FOUR, Units, descents
from leadline.evidence import Int, Real, at_least, at_most, claim, close, exactly, slope
from leadline.presentation import figure


@claim(sources=("cam",))
def gd_step_count(key, activation: Units = "tanh", accuracy: Real(0.02, 0.5, log=True) = 0.1, seeds: Int(2, 10) = 3):
    r"""Steps and width for accuracy ε.

    To reduce the risk to ε times its initial value, K′ steps suffice, provided that K′ ≤ Kₘₐₓ: the width must be large
    enough for the desired accuracy. That is not automatic: at width 256 with ReLU it fails for ε = 0.1.

    $$K' = \left\lceil \frac{\log \varepsilon}{\log(1 - \alpha / (2 \sqrt{R_0}))} \right\rceil \le K_{\max} \iff m \ge
    \bar C n (\alpha K' / \bar c)^2$$

    Assumes: c̄ = 0.8c and C̄ = 1.25C bound the gradient in the unit ball.

    Check: The least ε guaranteed at each width is set beside the risk that gradient descent leaves.
    """
    widths = np.array([64, 256, 1024, 4096])
    steps = 250
    found = descents(activation, widths, seeds, key, accuracy=accuracy, steps=steps)
    able = [(m, card, run) for m, card, run in found if card.verdict == "applicable" and card.needed_steps <= steps]
    if able:
        taken = [run.steps_to(accuracy) or steps + 1 for _, _, run in able]
        promised = [card.needed_steps for _, card, _ in able]
        yield at_most(taken, promised, f"steps to ε, against K′, {len(able)} of {len(found)} runs")
    # Where c̄, C̄ and R₀ are those measured, the width that the theorem asks for decides as K′ ≤ K_max does:
    # ⌊a⌋ ≥ K′ iff a ≥ K′ for a whole number K′, so that the two forms agree exactly.
    cards = [card for _, card, _ in found]
    wide = [card.constants.width >= card.needed_width * (1 - 1e-12) for card in cards]
    enough = [card.needed_steps <= card.most_steps for card in cards]
    yield exactly(wide, enough, "m ≥ C̄ n (αK′/c̄)², against K′ ≤ K_max")
    keys = [jax.random.fold_in(key, 500 + s) for s in range(10)]
    small = [tangent.certify(tangent.lecun_two_layer(8, 256, "relu", key=k), *FOUR) for k in keys]
    worst = max(small, key=lambda card: card.needed_steps - card.most_steps)
    what = "K′ of ReLU, m = 256, ε = 0.1, worst of 10 seeds, against K_max: the theorem is silent"
    yield at_least(worst.needed_steps, worst.most_steps, what, strict=True)
    many = np.array([m for m, _, _ in found])
    least = np.array([card.rate**card.most_steps for _, card, _ in found])
    left = np.array([run.losses[min(card.most_steps, steps)] / run.losses[0] for _, card, run in found])
    line = np.array([np.exp(np.mean(np.log(least[many == m]))) for m in widths])
    title = f"Admissible accuracies lie above the line: ε ≥ {line[0]:.2g} at m = 64, {line[2]:.2g} at 1024"
    points = {
        "the same, each network": (many, least),
        "R/R₀ measured at K_max (or 10⁻¹²)": (many, np.maximum(left, 1e-12)),
    }
    lines, rules = {"least ε that the theorem reaches": (widths, line)}, {f"ε = {accuracy:g}": ("y", accuracy)}
    yield figure.curves(title, "width m", "ε", lines=lines, points=points, rules=rules, log="xy")


@claim(sources=("cam",))
def width_free_rate(key, activation: Units = "tanh", largest: Int(2048, 8192, log=True) = 4096, seeds: Int(2, 10) = 4):
    r"""The convergence rate is width-free.

    The geometric rate does not depend on the width: in the standard parametrisation the step size shrinks as 1/m and
    the loss curves of wide networks collapse onto one, while wider networks stay nearer to their start.

    $$\eta \sim 1/m, \qquad \frac{\bar c}{\bar C} \to \frac{0.8}{1.25} \frac{\lambda_{\min}(E v v^T)}{\lambda_{\max}(E
    v v^T)}$$

    Assumes: m is large, at least 1024 here.
    """
    widths = np.unique([256, 1024, largest])
    found = descents(activation, widths, seeds, key, steps=60)
    ends = np.linalg.eigvalsh(tangent.last_layer_limit(FOUR[0], activation))[[0, -1]]
    limit = 1 - 0.25 * 0.64 * ends[0] / ends[1]
    many = np.array([m for m, _, _ in found])
    rates = np.array([card.rate for _, card, _ in found])
    typical = [rates[many == m].mean() for m in widths if m >= 1024]
    yield close(typical, limit, "promised rate for m ≥ 1024, mean over seeds, against its limit", rtol=0.05)
    steps = np.array([run.steps_to(0.1) or 61 for _, _, run in found], float)
    yield slope(many, steps, 0.0, "steps to 0.1 R₀ against the width", within=0.1)
    yield slope(many, [card.step for _, card, _ in found], -1.0, "step size against the width", within=0.1)
    moved = [run.distances[-1] / card.risk**0.5 for _, card, run in found]
    yield slope(many, moved, -0.5, "distance after 60 steps over √R₀, against the width", within=0.1)
    counts = {m: f"{np.mean(steps[many == m]):.3g}" for m in widths}
    count = np.arange(31)
    points = {
        f"m = {m}": (count, np.mean([run.losses[:31] / run.losses[0] for w, _, run in found if w == m], axis=0))
        for m in widths
    }
    title = f"Steps to a tenth of the risk: {', '.join(counts.values())} at m = {', '.join(map(str, counts))}"
    lines = {"promised, limit of infinite width": (count, limit**count)}
    yield figure.curves(title, "step k", "R_k/R_0, mean over seeds", points=points, lines=lines, log="y")
