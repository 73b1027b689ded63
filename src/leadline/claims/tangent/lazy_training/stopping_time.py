"""When to stop: fitting noisy labels to the end, in closed form and by networks, in low and in high dimension."""

import jax
import numpy as np

from leadline import data, infinite_width, tangent
from leadline.evidence import Int, Real, at_least, at_most, claim
from leadline.presentation import figure

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


def _network_risks(train, test, noise, draws: int, width: int, num_steps: int, key):
    """The same by gradient descent on a network that starts at f = 0, ten times along the way; and the times ηk."""
    (x, clean), (z, target) = train, test
    n = len(x) // draws
    times, found = [], []
    for k in range(draws):
        part = slice(k * n, (k + 1) * n)
        own = jax.random.fold_in(key, k)
        net = tangent.lecun_two_layer(x.shape[1], width // 2, "relu", gain=2**0.5, parametrisation="ntk", key=own)
        net = net.paired()
        rate = 1 / np.linalg.eigvalsh(tangent.family_kernels([net], x[part])[0])[-1]
        risks = [np.mean(target**2)]
        for _ in range(10):
            labels = clean[part] + noise[part]
            net = tangent.train_family([net], x[part], labels, [n * rate / 2], max_steps=num_steps // 10)[0].network
            outputs = net.scale * np.maximum(z @ np.asarray(net.weight).T, 0) @ np.asarray(net.head)
            risks.append(np.mean((outputs - target) ** 2))
        times.append(rate * num_steps / 10 * np.arange(11))
        found.append(risks)
    return np.array(times), np.array(found)


@claim(sources=("cam",))
def fit_versus_generalise(
    key,
    noise: Real(0.35, 0.8) = 0.5,
    draws: Int(30, 80) = 50,
    dim: Int(60, 160) = 100,
    width: Int(256, 1024, log=True) = 256,
):
    r"""Early stopping against fitting the noise.

    With noisy labels in one dimension, training to zero error raises the test risk and the best time to stop is
    earlier; with a linear target in many dimensions, fitting the noise does no harm. The verdict holds per data set.

    $$f_t(x) = \Theta(x, X)\, \Theta^{-1} \left(I - e^{-\Theta t}\right) y, \qquad
    \frac{R_{\mathrm{test}}(\infty)}{\min_t R_{\mathrm{test}}(t)}$$

    Assumes: test risk measured without the label noise; f₀ = 0.

    Check: sin 3x at 20 points, and a linear target in `dim` dimensions at `dim`/2 points; then networks.
    """
    rng = data.generator(key)
    wave, wave_test = _wave(rng, draws)
    errors = rng.standard_normal(len(wave[0]))
    levels = (0.0, noise / 2, noise)
    by_noise = dict(zip(levels, _risks(wave, wave_test, draws, np.outer(errors, levels)), strict=True))
    ratio = {level: risk[:, -1] / risk.min(axis=1) for level, risk in by_noise.items()}
    typical = np.median(ratio[noise])
    yield at_least(typical, 1.5, f"noisy wave: median final over least test risk, {draws} draws")
    what = "wave without noise: median final over least test risk, against with noise"
    yield at_most(np.median(ratio[0.0]), typical, what)
    few = 10
    plane, plane_test = _plane(rng, few, dim)
    plane_errors = 0.5 * rng.standard_normal(len(plane[0]))
    benign = _risks(plane, plane_test, few, plane_errors[:, None])[0]
    kind = np.median(benign[:, -1] / benign.min(axis=1))
    yield at_most(kind, 1.02, f"linear target in {dim} dimensions: median final over least test risk")
    runs, n = 5, dim // 2
    waves, planes = tuple(part[: 20 * runs] for part in wave), tuple(part[: 2 * n] for part in plane)
    times, risks = _network_risks(waves, wave_test, noise * errors, runs, width, 8000, key)
    _, kind_risks = _network_risks(planes, plane_test, plane_errors, 2, width, 400, jax.random.fold_in(key, 1))
    trained, calm = (np.median(risk[:, -1] / risk.min(axis=1)) for risk in (risks, kind_risks))
    what = f"noisy wave: median final over least test risk, networks of width {width}, 8000 steps"
    yield at_least(trained, 1.0, what, strict=True)
    yield at_most(calm, 1.05, f"linear target in {dim} dimensions: median final over least test risk, networks")
    finite, several = TIMES[:-1], f"first {runs} draws"
    lines = {f"noise {level:g}": (finite, np.median(risk[:, :-1], axis=0)) for level, risk in by_noise.items()}
    lines[f"noise {noise:g}, {several}"] = (finite, np.median(by_noise[noise][:runs, :-1], axis=0))
    points = {f"networks, {several}": (np.median(times, axis=0)[1:], np.median(risks, axis=0)[1:])}
    title = f"sin 3x, {draws} draws: test risk by label noise"
    left = figure.curves(title, "time t", "test risk, median", lines=lines, points=points, log="xy")
    lines = {"infinite width": (finite, np.median(benign[:, :-1], axis=0))}
    rules = {"fitted to the end": ("y", np.median(benign[:, -1]))}
    title = f"Linear target, {dim} dimensions, {n} points, noise 0.5"
    right = figure.curves(title, "time t", "test risk, median", lines=lines, rules=rules, log="x")
    title = f"Fitting noisy labels to the end costs a factor {typical:.2g} in one dimension and {kind:.2f} in {dim}"
    yield figure.beside(title, left, right)
