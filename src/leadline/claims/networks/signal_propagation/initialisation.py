"""Rules for the first weights of a layer, and how they balance the two directions of a signal."""

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, networks
from leadline.evidence import Int, Real, at_most, claim, close, erratum, mean, method
from leadline.presentation import figure


@method(sources=("eth", "penn"))
def initialisers(key, inputs: Int(8, 600, log=True) = 200, outputs: Int(8, 600, log=True) = 300, size: Int(2, 32) = 16):
    r"""LeCun, Glorot, He and orthogonal initialisation.

    Rules for the variance of the initial weights, by fan-in n and fan-out m: LeCun 1/n, Glorot 2/(n+m), He 2/n,
    PyTorch's uniform default 1/(3n). An orthogonal matrix taken from a QR decomposition needs the signs of diag R for
    it to be uniformly distributed.

    $$s^2 = \tfrac1n,\ \tfrac{2}{n+m},\ \tfrac2n,\ \tfrac1{3n}; \qquad W = Q\,\mathrm{diag}(\mathrm{sgn}\,R_{ii})$$

    Check: One matrix is drawn by each rule; for the orthogonal rule, the first entries of many matrices of a chosen
    size are tested.
    """
    drawn = {}
    for index, rule in enumerate(("lecun", "lecun_uniform", "glorot", "glorot_uniform", "he", "he_uniform", "pytorch")):
        weights = networks.initialiser(rule)(jax.random.fold_in(key, index), (outputs, inputs), jnp.float64)
        drawn[rule] = np.asarray(weights).ravel()
        moment = networks.weight_moment(rule, inputs, outputs)
        uniform = rule in ("pytorch", "lecun_uniform", "glorot_uniform", "he_uniform")
        spread = moment * (0.8 if uniform else 2.0) ** 0.5
        right = mean(drawn[rule] ** 2, moment, f"mean square of {rule} weights", deviation=spread)
        yield right
        if uniform:
            yield at_most(np.abs(drawn[rule]).max(), (3 * moment) ** 0.5, f"largest of {rule} weights, against √3 s")
        if rule == "lecun":
            wrong = mean(
                drawn[rule] ** 2, inputs**-0.5, "mean square of fan-in weights, against 1/√n", deviation=spread
            )
            yield erratum(wrong, of=right, by="penn", prints="weights from N(0, 1/√p), the second argument a variance")
    orthogonal = np.asarray(networks.initialiser("orthogonal")(key, (outputs, inputs), jnp.float64))
    small = orthogonal.T @ orthogonal if outputs >= inputs else orthogonal @ orthogonal.T
    yield close(small, np.eye(len(small)), "WᵀW of a tall orthogonal matrix (WWᵀ of a wide one)", atol=1e-12)
    from scipy.special import gammaln

    q, r = np.linalg.qr(data.generator(key).standard_normal((4000, size, size)))
    plain, fixed = q[:, 0, 0], q[:, 0, 0] * np.sign(r[:, 0, 0])
    absolute = np.exp(gammaln(size / 2) - gammaln((size + 1) / 2)) / np.pi**0.5  # E|Q₁₁| if Q is uniform
    yield mean(fixed, 0.0, "mean of Q₁₁ with the signs of diag R", deviation=size**-0.5)
    yield mean(plain, -absolute, "mean of Q₁₁ as the QR algorithm gives it", deviation=(1 / size - absolute**2) ** 0.5)
    shown = {"LeCun": "lecun", "He": "he", "Glorot, uniform": "glorot_uniform", "PyTorch": "pytorch"}
    edge = 3.2 * networks.weight_moment("he", inputs, outputs) ** 0.5
    grid, panels = np.linspace(-edge, edge, 400), []
    for name, rule in shown.items():
        s = networks.weight_moment(rule, inputs, outputs) ** 0.5
        density = np.exp(-(grid**2) / (2 * s**2)) / (s * (2 * np.pi) ** 0.5)
        if rule in ("glorot_uniform", "pytorch"):
            density = np.where(np.abs(grid) <= 3**0.5 * s, 1 / (12**0.5 * s), 0.0)
        samples, lines = {"drawn": drawn[rule][np.abs(drawn[rule]) < edge]}, {"density": (grid, density)}
        panels.append(figure.histogram(f"{name}: s = {s:.3g}", "weight", samples=samples, lines=lines, bins=50))
    yield figure.beside(f"He's weights are {6**0.5:.3g} times as large as PyTorch's default", *panels)


@claim(sources=("eth", "penn"))
def glorot_balance(key, inputs: Int(16, 128) = 64, aspect: Real(1.5, 8.0) = 4.0, draws: Int(100, 400) = 300):
    r"""Glorot initialisation balances both passes.

    With s² = 2/(n+m) a layer multiplies the forward variance by 2n/(n+m) and the backward variance by 2m/(n+m): both
    are 1 only for n = m, and their mean is always 1. The rule splits the error between the two passes.

    $$s^2 = \frac{2}{n+m}: \quad n s^2 = \frac{2n}{n+m}, \quad m s^2 = \frac{2m}{n+m}$$

    Assumes: the weights are independent of the values they multiply.

    Check: Layers (n, m), (n, n) and (m, n), with m a chosen multiple of n, are drawn by three rules; each draw sends
    one random vector each way.
    """
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
            out = f"{name}, {n} to {m}: growth of the variance"
            yield mean(n * s2 * forward, n * s2, f"{out} forward", deviation=n * s2 * (2 / m) ** 0.5)
            yield mean(m * s2 * backward, m * s2, f"{out} backward", deviation=m * s2 * (2 / n) ** 0.5)
        s2 = networks.weight_moment("glorot", n, m)
        yield close((n * s2 + m * s2) / 2, 1.0, f"Glorot, {n} to {m}: mean of n s² and m s²", rtol=1e-12)
    square = rng.standard_normal((inputs, inputs))
    x, adjoint = rng.standard_normal((2, inputs))
    gradient = jax.grad(lambda v: adjoint @ (square.T @ v))(jnp.asarray(x))
    size, by_hand = np.abs(square) @ np.abs(adjoint), square @ adjoint
    yield close(by_hand / size, gradient / size, "x̄_i = Σ_j S_ij z̄_j for z = Sᵀx, against autodiff", atol=1e-12)
    ratios, at = np.geomspace(1 / 9, 9, 60), [m / n for n, m in shapes]
    curves = {
        "Glorot": (2 / (1 + ratios), 2 * ratios / (1 + ratios)),
        "LeCun": (1 + 0 * ratios, ratios),
        "backward LeCun": (1 / ratios, 1 + 0 * ratios),
    }
    panels = []
    for side, name in enumerate(("forward", "backward")):
        lines = {rule: (ratios, curve[side]) for rule, curve in curves.items()}
        points = {rule: (at, values[side]) for rule, values in measured.items()}
        panels.append(figure.curves(name, "m/n", "variance out / variance in", lines=lines, points=points, log="xy"))
    forward, backward = (values[1] for values in measured["Glorot"])
    title = f"At m/n = {wide / inputs:.3g} Glorot's rule gives {forward:.2f} forward and {backward:.2f} backward"
    yield figure.beside(title, *panels)
