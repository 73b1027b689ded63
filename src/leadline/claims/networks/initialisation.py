"""Rules for the first weights of a layer, and how they balance the two directions of a signal."""

from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, networks
from leadline.evidence import Range, at_most, claim, close, figure, mean, method, printed


@method(
    "initialisers",
    says=(
        "Rules for the variance of first weights, by fan-in n and fan-out m: LeCun 1/n, Glorot 2/(n+m), He 2/n, "
        "PyTorch's uniform default 1/(3n); orthogonal matrices need the signs of diag R to be uniformly distributed."
    ),
    formula=(
        r"s^2 = \tfrac1n,\ \tfrac{2}{n+m},\ \tfrac2n,\ \tfrac1{3n}; \qquad W = Q\,\mathrm{diag}(\mathrm{sgn}\,R_{ii})"
    ),
    sources=("eth", "penn"),
    shows=("networks.initialiser", "networks.INITIALISERS", "networks.weight_moment"),
)
def initialisers(
    key,
    inputs: Annotated[int, Range(8, 600, log=True)] = 200,
    outputs: Annotated[int, Range(8, 600, log=True)] = 300,
    size: Annotated[int, Range(2, 32)] = 16,
):
    """One matrix of each rule; `size` is that of the orthogonal matrices whose first entries are tested."""
    drawn = {}
    for index, rule in enumerate(("lecun", "lecun_uniform", "glorot", "glorot_uniform", "he", "he_uniform", "pytorch")):
        weights = networks.initialiser(rule)(jax.random.fold_in(key, index), (outputs, inputs), jnp.float64)
        drawn[rule] = np.asarray(weights).ravel()
        moment = networks.weight_moment(rule, inputs, outputs)
        uniform = rule in ("pytorch", "lecun_uniform", "glorot_uniform", "he_uniform")
        spread = moment * (0.8 if uniform else 2.0) ** 0.5
        yield mean(drawn[rule] ** 2, moment, f"mean square of {rule} weights", deviation=spread)
        if uniform:
            yield at_most(np.abs(drawn[rule]).max(), (3 * moment) ** 0.5, f"largest of {rule} weights, against √3 s")
    square = networks.weight_moment("lecun", inputs, outputs)
    yield printed(
        mean(drawn["lecun"] ** 2, inputs**-0.5, "mean square of fan-in weights", deviation=square * 2**0.5),
        "penn", "N(0, 1/√p), read as a variance",
    )  # fmt: skip
    yield printed(
        mean(drawn["pytorch"] ** 2, square, "mean square of PyTorch's default", deviation=square * 2**0.5),
        "penn", "PyTorch draws Gaussian weights of variance 1/p",
    )  # fmt: skip

    orthogonal = np.asarray(networks.initialiser("orthogonal")(key, (outputs, inputs), jnp.float64))
    small = orthogonal.T @ orthogonal if outputs >= inputs else orthogonal @ orthogonal.T
    yield close(small, np.eye(len(small)), "WᵀW of a tall orthogonal matrix (WWᵀ of a wide one)", atol=1e-12)

    from scipy.special import gammaln

    rng = data.generator(key)
    gaussian = rng.standard_normal((4000, size, size))
    q, r = np.linalg.qr(gaussian)
    plain, fixed = q[:, 0, 0], q[:, 0, 0] * np.sign(r[:, 0, 0])
    absolute = float(np.exp(gammaln(size / 2) - gammaln((size + 1) / 2)) / np.pi**0.5)  # E|Q₁₁| of the uniform law
    yield mean(fixed, 0.0, "mean of Q₁₁ with the signs of diag R", deviation=size**-0.5)
    yield mean(plain, -absolute, "mean of Q₁₁ as the QR algorithm gives it", deviation=(1 / size - absolute**2) ** 0.5)

    shown = {"LeCun": "lecun", "He": "he", "Glorot, uniform": "glorot_uniform", "PyTorch": "pytorch"}
    edge = 3.2 * networks.weight_moment("he", inputs, outputs) ** 0.5
    panels = []
    for name, rule in shown.items():
        s = networks.weight_moment(rule, inputs, outputs) ** 0.5
        grid = np.linspace(-edge, edge, 400)
        flat = rule in ("glorot_uniform", "pytorch")
        density = (
            np.where(np.abs(grid) <= 3**0.5 * s, 1 / (12**0.5 * s), 0.0)
            if flat
            else np.exp(-(grid**2) / (2 * s**2)) / (s * (2 * np.pi) ** 0.5)
        )
        inside = drawn[rule][np.abs(drawn[rule]) < edge]
        panels.append(
            figure.histogram(
                f"{name}: s = {s:.3g}", x="weight", samples={"drawn": inside}, lines={"law": (grid, density)}, bins=50
            )
        )
    yield figure.beside(
        f"He's weights are {(2 * 3) ** 0.5:.3g} times as large as PyTorch's default, for {inputs} inputs and "
        f"{outputs} outputs", *panels,
    )  # fmt: skip


@claim(
    "glorot-balance",
    says=(
        "With s² = 2/(n+m) a layer multiplies the forward variance by 2n/(n+m) and the backward one by 2m/(n+m): both "
        "are 1 only for n = m, and their mean is always 1. It splits the error between the two passes."
    ),
    formula=r"s^2 = \frac{2}{n+m}: \quad n s^2 = \frac{2n}{n+m}, \quad m s^2 = \frac{2m}{n+m}",
    sources=("eth", "penn"),
    assumes=("weights independent of the values they multiply",),
)
def glorot_balance(
    key,
    inputs: Annotated[int, Range(16, 128)] = 64,
    aspect: Annotated[float, Range(1.5, 8.0)] = 4.0,
    draws: Annotated[int, Range(100, 400)] = 300,
):
    """Layers (n, m), (n, n) and (m, n) with m = aspect n, for three rules; one random vector each way a draw."""
    rng = data.generator(key)
    wide = round(aspect * inputs)
    shapes = [(inputs, inputs), (inputs, wide), (wide, inputs)]
    rules = {"Glorot": "glorot", "LeCun": "lecun", "backward LeCun": "lecun_backward"}
    measured = {name: ([], []) for name in rules}
    for n, m in shapes:
        unit = rng.standard_normal((draws, m, n), dtype=np.float32)
        x, adjoint = rng.standard_normal((draws, n)), rng.standard_normal((draws, m))
        forward = np.sum(np.einsum("dij,dj->di", unit, x) ** 2, axis=1) / np.sum(x**2, axis=1) / m
        backward = np.sum(np.einsum("dij,di->dj", unit, adjoint) ** 2, axis=1) / np.sum(adjoint**2, axis=1) / n
        for name, rule in rules.items():
            s2 = networks.weight_moment(rule, n, m)
            measured[name][0].append(n * s2 * forward.mean())
            measured[name][1].append(m * s2 * backward.mean())
            yield mean(n * s2 * forward, n * s2, f"{name}, {n} to {m}: forward", deviation=n * s2 * (2 / m) ** 0.5)
            yield mean(m * s2 * backward, m * s2, f"{name}, {n} to {m}: backward", deviation=m * s2 * (2 / n) ** 0.5)
        s2 = networks.weight_moment("glorot", n, m)
        yield close((n * s2 + m * s2) / 2, 1.0, f"Glorot, {n} to {m}: mean of the two ratios", rtol=1e-12)
        if n != m:
            yield printed(
                mean(m * s2 * backward, 1.0, f"backward ratio, {n} to {m}", deviation=m * s2 * (2 / n) ** 0.5),
                "eth", "Glorot's rule normalises the gradient's magnitude",
            )  # fmt: skip
    square = rng.standard_normal((inputs, inputs))
    x, adjoint = rng.standard_normal((2, inputs))
    gradient = jax.grad(lambda v: jnp.asarray(adjoint) @ (jnp.asarray(square).T @ v))(jnp.asarray(x))
    size = np.abs(square) @ np.abs(adjoint)
    yield close(
        square @ adjoint / size, gradient / size, "x̄_i = Σ_j S_ij z̄_j for z = Sᵀx, against autodiff", atol=1e-12
    )
    yield printed(
        close(square.T @ adjoint / size, gradient / size, "x̄_i = Σ_j S_ji z̄_j for z = Sᵀx", atol=1e-12),
        "penn", "the backward sum runs over S_ji",
    )  # fmt: skip

    ratios = np.geomspace(1 / 9, 9, 60)
    at = np.array([m / n for n, m in shapes])
    curves = {"Glorot": (2 / (1 + ratios), 2 * ratios / (1 + ratios)), "LeCun": (1 + 0 * ratios, ratios),
              "backward LeCun": (1 / ratios, 1 + 0 * ratios)}  # fmt: skip
    yield figure.beside(
        f"At m/n = {wide / inputs:.3g} Glorot's rule gives {measured['Glorot'][0][1]:.2f} forward and "
        f"{measured['Glorot'][1][1]:.2f} backward",
        *(
            figure.curves(
                name, x="m/n", y="variance out / variance in",
                lines={rule: (ratios, curve[side]) for rule, curve in curves.items()},
                points={rule: (at, values[side]) for rule, values in measured.items()}, log="xy",
            )
            for side, name in enumerate(("forward", "backward"))
        ),
    )  # fmt: skip
