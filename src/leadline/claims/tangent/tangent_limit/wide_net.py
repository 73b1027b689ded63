"""A trained wide network beside kernel regression with its tangent kernel, on digits."""

import jax
import numpy as np

from leadline import infinite_width, tangent
from leadline.claims.tangent.function_space.mode_decay import odd_even_digits
from leadline.evidence import Int, at_least, at_most, claim
from leadline.presentation import figure


@claim(sources=("eth", "sheet", "cam"), empirical=True)
def wide_net_is_kernel_regression(
    key, points: Int(100, 400) = 200, largest: Int(512, 1024) = 1024, num_steps: Int(100, 1000, log=True) = 200
):
    r"""Wide networks perform NTK regression.

    A wide network trained by small steps predicts what kernel regression with its tangent kernel does, starting from
    its own initial function: on digits the gap falls about as $m^{-1/2}$ or faster. Without f₀(x) the formula is wrong
    for any single network.

    $$f_k(x) \approx f_0(x) + \Theta(x, X)\, \Theta^{-1} \left(I - (I - \eta \Theta)^k\right) (y - f_0(X))$$

    Assumes: one hidden ReLU layer, NTK parametrisation; η = 1/λₘₐₓ.

    Check: Even and odd digits, equal numbers of steps, each network's own kernel and the infinite-width one.
    """
    (x, y), (z, t) = odd_even_digits(points, 500)
    widths = np.array([largest // 16, largest // 4, largest])
    dim = x.shape[1]
    stack = infinite_width.dense_stack(1, "relu", W_std=2**0.5, first_W_std=dim**0.5)
    limit, limit_cross = np.asarray(stack.kernel_fn(x)), np.asarray(stack.kernel_fn(z, x))
    both, shown = np.concatenate([x, z]), {}
    gaps, limit_gaps, bare = [], [], []
    for i, m in enumerate(widths):
        own = jax.random.fold_in(key, i)
        net = tangent.lecun_two_layer(dim, int(m), "relu", gain=2**0.5, parametrisation="ntk", key=own)
        net = net.padded(largest)  # one compiled program for all widths
        K = tangent.family_kernels([net], both, x)[0]
        start = net(both)
        rate = 1 / np.linalg.eigvalsh(K[:points])[-1]
        run = tangent.train_family([net], x, y, [points * rate / 2], max_steps=num_steps)[0]
        trained = run.network(z)

        def kernel_regression(kernel, cross, rate=float(rate), start=start):
            wide = infinite_width.WideTraining(kernel, y, step_size=rate).at(cross)
            return np.asarray(wide.from_start(start[:points], start[points:], num_steps))

        predicted, wide = kernel_regression(K[:points], K[points:]), kernel_regression(limit, limit_cross)
        size = np.linalg.norm(trained)
        gaps.append(np.linalg.norm(trained - predicted) / size)
        limit_gaps.append(np.linalg.norm(trained - wide) / size)
        bare.append(np.linalg.norm(trained - (predicted - start[points:])) / size)
        shown[f"m = {m}"] = predicted[:150], trained[:150]
    found = np.polyfit(np.log(widths), np.log(gaps), 1)[0]
    yield at_most(found, -0.4, "slope of the gap to the linearised prediction against the width, at most")
    yield at_least(found, -1.0, "slope of the gap to the linearised prediction against the width, at least")
    yield at_most(limit_gaps[-1], limit_gaps[0], "gap to the infinitely wide prediction, widest against narrowest")
    small = at_most(gaps[-1], 0.05, f"gap to the linearised prediction at m = {largest}")
    yield small.given(largest >= 1000 and num_steps <= 300, "m ≥ 1000, ≤ 300 steps")
    yield at_least(bare[-1], 0.2, "gap of the formula without f₀(x) at the widest")
    reach, ends = np.array([-1.5, 1.5]), (f"m = {widths[0]}", f"m = {widths[-1]}")
    points, lines = {name: shown[name] for name in ends}, {"equal": (reach, reach)}
    title, axes = f"Test outputs, {ends[0]} and {ends[1]}", ("kernel regression from f₀", "trained network")
    left = figure.curves(title, *axes, points=points, lines=lines)
    points = {"own tangent kernel": gaps, "infinite width": limit_gaps, "without f₀(x)": bare}
    points = {name: (widths, gap) for name, gap in points.items()}
    lines = {"slope −1/2": (widths, gaps[0] * (widths / widths[0]) ** -0.5)}
    title = f"Gap on 500 test digits after {num_steps} steps (accuracy {np.mean(np.sign(trained) == t):.3f})"
    right = figure.curves(title, "width m", "relative gap", points=points, lines=lines, log="xy")
    title = f"The gap of trained network and formula falls from {gaps[0]:.2g} to {gaps[-1]:.2g}: slope {found:.2f}"
    yield figure.beside(title, left, right)
