"""When to stop: fitting noisy labels to the end, in closed form and by networks, in low and in high dimension."""

from typing import Annotated

import jax
import numpy as np

from leadline import data, infinite_width, tangent
from leadline.evidence import Range, at_least, at_most, claim, figure, printed

TIMES = np.concatenate([np.geomspace(1e-2, 1e6, 41), [np.inf]])


def _with_bias(x: np.ndarray, scale: float = 1.0) -> np.ndarray:
    return np.column_stack([x, np.ones(len(x))]) * scale


def _wave(rng, draws: int):
    """sin 3x on [-1, 1], 20 points a draw and 200 for testing: inputs (x, 1) and noiseless targets."""
    x, z = rng.uniform(-1, 1, 20 * draws), np.linspace(-1, 1, 200)
    return (_with_bias(x[:, None]), np.sin(3 * x)), (_with_bias(z[:, None]), np.sin(3 * z))


def _plane(rng, draws: int, dim: int):
    """A linear target of unit variance in `dim` isotropic dimensions, dim/2 points a draw and 200 for testing."""
    slope = rng.standard_normal(dim) / dim**0.5
    x, z = rng.standard_normal((dim // 2 * draws, dim)), rng.standard_normal((200, dim))
    return tuple((_with_bias(part, (dim + 1) ** -0.5), part @ slope) for part in (x, z))


def _risks(train, test, draws: int, noise: np.ndarray) -> np.ndarray:
    """Excess test risk of the infinitely wide network at `TIMES`, (levels, draws, times); label noise (n, levels)."""
    (x, clean), (z, target) = train, test
    stack = infinite_width.dense_stack(1, "relu", W_std=2**0.5, first_W_std=x.shape[1] ** 0.5)
    kernel, cross = np.asarray(stack.kernel_fn(x)), np.asarray(stack.kernel_fn(z, x))
    kernel = (kernel + kernel.T) / 2  # rounding near the diagonal
    n = len(x) // draws
    found = []
    for part in (slice(k * n, (k + 1) * n) for k in range(draws)):
        wide = infinite_width.WideTraining(kernel[part, part], clean[part, None] + noise[part]).at(cross[:, part])
        found.append(np.mean((np.asarray(wide.mean(TIMES)) - target[:, None]) ** 2, axis=1))  # (times, levels)
    return np.moveaxis(np.array(found), -1, 0)


def _network_risks(train, test, noise, draws: int, width: int, steps: int, key):
    """The same by gradient descent on a network that starts at f = 0, ten times along the way; and the times ηk."""
    (x, clean), (z, target) = train, test
    n = len(x) // draws
    times, found = [], []
    for k in range(draws):
        part = slice(k * n, (k + 1) * n)
        net = tangent.lecun_two_layer(
            x.shape[1], width // 2, "relu", gain=2**0.5, parametrisation="ntk", key=jax.random.fold_in(key, k)
        ).paired()
        rate = 1 / np.linalg.eigvalsh(tangent.family_kernels([net], x[part])[0])[-1]
        risks = [np.mean(target**2)]
        for _ in range(10):
            run = tangent.train_family([net], x[part], clean[part] + noise[part], [n * rate / 2], most=steps // 10)[0]
            net = run.network
            outputs = net.scale * np.maximum(z @ np.asarray(net.weight).T, 0) @ np.asarray(net.head)
            risks.append(np.mean((outputs - target) ** 2))
        times.append(rate * steps / 10 * np.arange(11))
        found.append(risks)
    return np.array(times), np.array(found)


@claim(
    "fit-versus-generalise",
    says=(
        "With noisy labels in one dimension, training to zero error raises the test risk and the best time to stop is "
        "earlier; with a linear target in many dimensions fitting the noise does no harm. The verdict is per data set."
    ),
    formula=r"f_t(x) = \Theta(x, X)\, \Theta^{-1} \left(I - e^{-\Theta t}\right) y, \qquad "
    r"\frac{R_{\mathrm{test}}(\infty)}{\min_t R_{\mathrm{test}}(t)}",
    sources=("cam",),
    assumes=("test risk without the label noise", "f₀ = 0"),
)
def fit_versus_generalise(
    key,
    noise: Annotated[float, Range(0.35, 0.8)] = 0.5,
    draws: Annotated[int, Range(30, 80)] = 50,
    dim: Annotated[int, Range(60, 160)] = 100,
    width: Annotated[int, Range(256, 1024, log=True)] = 256,
):
    """sin 3x at 20 points against a linear target in `dim` dimensions at dim/2 points, noise 0.5; then networks."""
    rng = data.generator(key)
    wave, wave_test = _wave(rng, draws)
    errors = rng.standard_normal(len(wave[0]))
    levels = (0.0, noise / 2, noise)
    by_noise = dict(zip(levels, _risks(wave, wave_test, draws, np.outer(errors, levels)), strict=True))
    ratio = {level: risk[:, -1] / risk.min(axis=1) for level, risk in by_noise.items()}
    typical = float(np.median(ratio[noise]))
    yield at_least(typical, 1.5, f"noisy wave: median final over least test risk, {draws} draws")
    yield at_most(np.median(ratio[0.0]), typical, "the same without noise, against with noise")
    few = 10
    plane, plane_test = _plane(rng, few, dim)
    plane_errors = 0.5 * rng.standard_normal(len(plane[0]))
    benign = _risks(plane, plane_test, few, plane_errors[:, None])[0]
    kind = float(np.median(benign[:, -1] / benign.min(axis=1)))
    yield at_most(kind, 1.02, f"linear target in {dim} dimensions: median final over least test risk")
    yield printed(
        at_least(kind, 1.1, f"rise of the test risk when fitting to the end, {dim} dimensions"),
        "cam", "driving the training error to zero inevitably costs generalisation",
    )  # fmt: skip
    runs = 5
    times, risks = _network_risks(
        tuple(part[: 20 * runs] for part in wave), wave_test, noise * errors, runs, width, 8000, key
    )
    n = dim // 2
    _, kind_risks = _network_risks(
        tuple(part[: 2 * n] for part in plane), plane_test, plane_errors, 2, width, 400, jax.random.fold_in(key, 1)
    )
    yield at_least(
        np.median(risks[:, -1] / risks.min(axis=1)), 1.0, f"networks of width {width}, 8000 steps: the same ratio",
        strict=True,
    )  # fmt: skip
    yield at_most(
        np.median(kind_risks[:, -1] / kind_risks.min(axis=1)), 1.05, "networks in many dimensions: the same ratio"
    )
    finite = TIMES[:-1]
    yield figure.beside(
        f"Fitting noisy labels to the end costs a factor {typical:.2g} in one dimension and {kind:.2f} in {dim}",
        figure.curves(
            f"sin 3x, {draws} draws: test risk by label noise",
            x="time t",
            y="test risk, median",
            lines={f"noise {level:g}": (finite, np.median(risk[:, :-1], axis=0)) for level, risk in by_noise.items()}
            | {f"noise {noise:g}, first {runs} draws": (finite, np.median(by_noise[noise][:runs, :-1], axis=0))},
            points={f"networks, first {runs} draws": (np.median(times, axis=0)[1:], np.median(risks, axis=0)[1:])},
            log="xy",
        ),
        figure.curves(
            f"Linear target, {dim} dimensions, {n} points, noise 0.5",
            x="time t",
            y="test risk, median",
            lines={"infinite width": (finite, np.median(benign[:, :-1], axis=0))},
            rules={"fitted to the end": ("y", float(np.median(benign[:, -1])))},
            log="x",
        ),
    )
