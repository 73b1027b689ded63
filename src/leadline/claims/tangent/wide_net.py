"""A trained wide network beside kernel regression with its tangent kernel, on digits."""

from typing import Annotated

import jax
import numpy as np

from leadline import infinite_width, tangent
from leadline.claims.tangent.mode_decay import odd_even_digits
from leadline.evidence import Range, at_least, at_most, claim, figure, printed


@claim(
    "wide-net-is-kernel-regression",
    says=(
        "A wide network trained by small steps predicts what kernel regression with its tangent kernel does, from its "
        "own initial function: on digits the gap falls about as m^(−1/2) or faster. Without f₀(x) the formula is "
        "wrong for any single network."
    ),
    formula=r"f_k(x) \approx f_0(x) + \Theta(x, X)\, \Theta^{-1} \left(I - (I - \eta \Theta)^k\right) (y - f_0(X))",
    sources=("eth", "sheet", "cam"),
    assumes=("one hidden ReLU layer, NTK parametrisation", "η = 1/λ_max"),
    empirical=True,
)
def wide_net_is_kernel_regression(
    key,
    points: Annotated[int, Range(100, 400)] = 200,
    largest: Annotated[int, Range(512, 1024)] = 1024,
    steps: Annotated[int, Range(100, 1000, log=True)] = 200,
):
    """Digits, even against odd; at equal step counts, the empirical kernel of each network and the infinite one."""
    (x, y), (z, t) = odd_even_digits(points, 500)
    widths = np.array([largest // 16, largest // 4, largest])
    dim = x.shape[1]
    stack = infinite_width.dense_stack(1, "relu", W_std=2**0.5, first_W_std=dim**0.5)
    limit, limit_cross = np.asarray(stack.kernel_fn(x)), np.asarray(stack.kernel_fn(z, x))
    gaps, limit_gaps, bare, accuracies, shown = [], [], [], [], {}
    for i, m in enumerate(widths):
        net = tangent.lecun_two_layer(
            dim, int(m), "relu", gain=2**0.5, parametrisation="ntk", key=jax.random.fold_in(key, i)
        )
        both = np.concatenate([x, z])
        net = net.padded(largest)  # one compiled program for all widths
        K = tangent.family_kernels([net], both, x)[0]
        start = _relu_outputs(net, both)
        rate = 1 / np.linalg.eigvalsh(K[:points])[-1]
        trained = _relu_outputs(tangent.train_family([net], x, y, [points * rate / 2], most=steps)[0].network, z)
        predicted, wide = (
            np.asarray(
                infinite_width.WideTraining(here, y, step=float(rate))
                .at(cross)
                .from_start(start[:points], start[points:], steps)
            )
            for here, cross in ((K[:points], K[points:]), (limit, limit_cross))
        )
        size = np.linalg.norm(trained)
        gaps.append(np.linalg.norm(trained - predicted) / size)
        limit_gaps.append(np.linalg.norm(trained - wide) / size)
        bare.append(np.linalg.norm(trained - (predicted - start[points:])) / size)
        accuracies.append(float(np.mean(np.sign(trained) == t)))
        shown[f"m = {m}"] = predicted[:150], trained[:150]
    found = float(np.polyfit(np.log(widths), np.log(gaps), 1)[0])
    yield at_most(found, -0.4, "slope of the gap to the linearised prediction against the width")
    yield at_least(found, -1.0, "slope of the gap to the linearised prediction against the width")
    yield at_most(limit_gaps[-1], limit_gaps[0], "gap to the infinitely wide prediction, widest against narrowest")
    yield at_most(gaps[-1], 0.05, f"gap at m = {largest}").given(
        largest >= 1000 and steps <= 300, "m ≥ 1000, ≤ 300 steps"
    )
    yield printed(
        at_most(bare[-1], 0.2, "gap of the formula without f₀(x) at the widest"), "eth", "f(x) = k(x, X) K⁻¹ (y − f₀)"
    )
    reach = np.array([-1.5, 1.5])
    yield figure.beside(
        f"The gap between the trained network and the formula falls from {gaps[0]:.2g} to {gaps[-1]:.2g}: slope "
        f"{found:.2f}",
        figure.curves(
            f"Test outputs, m = {widths[0]} and {widths[-1]}",
            x="kernel regression from f₀",
            y="trained network",
            points={name: shown[name] for name in (f"m = {widths[0]}", f"m = {widths[-1]}")},
            lines={"equal": (reach, reach)},
        ),
        figure.curves(
            f"Relative gap on 500 test digits after {steps} steps (accuracy {accuracies[-1]:.3f})",
            x="width m",
            y="relative gap",
            points={
                "own tangent kernel": (widths, gaps),
                "infinite width": (widths, limit_gaps),
                "without f₀(x)": (widths, bare),
            },
            lines={"slope −1/2": (widths, gaps[0] * (widths / widths[0]) ** -0.5)},
            log="xy",
        ),
    )


def _relu_outputs(net: tangent.TwoLayer, x: np.ndarray) -> np.ndarray:
    return net.scale * np.maximum(x @ np.asarray(net.weight).T, 0.0) @ np.asarray(net.head)
