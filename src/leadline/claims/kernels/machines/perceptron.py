"""Perceptrons and logistic regression in kernel form: the same steps without weights."""

from itertools import combinations

import jax
import numpy as np
from scipy.stats import spearmanr

from leadline import data, kernels
from leadline.claims.kernels.machines.ridge import digit_kernel
from leadline.evidence import Int, OneOf, Real, at_least, at_most, claim, close, exactly, method, reference
from leadline.kernels import machines
from leadline.kernels.features import monomial_features
from leadline.linear_classifiers import perceptrons
from leadline.presentation import figure


def moons(samples: int, noise: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two half circles, one in the mouth of the other."""
    y = np.where(np.arange(samples) % 2 == 0, 1.0, -1.0)
    angle = rng.uniform(0, np.pi, samples)
    x = np.column_stack([np.cos(angle), np.sin(angle)]) * y[:, None] + np.where(y < 0, 1.0, 0.0)[:, None] * [1.0, 0.5]
    return x + noise * rng.normal(size=x.shape), y


def spirals(samples: int, noise: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two arms, one the mirror image of the other."""
    y = np.where(np.arange(samples) % 2 == 0, 1.0, -1.0)
    turn = 0.5 + np.sqrt(rng.uniform(0, 1, samples)) * 1.5 * 2 * np.pi
    x = (turn / 5)[:, None] * np.column_stack([np.cos(turn), np.sin(turn)]) * y[:, None]
    return x + noise * rng.normal(size=x.shape), y


def slow_twins(G: np.ndarray, y: np.ndarray, sweeps: int) -> tuple[np.ndarray, np.ndarray]:
    """The counts after some sweeps by the rule as it is written: sums over examples, and y_w (α∘y)ᵀG e_w."""
    loop, matrix = np.zeros(len(y)), np.zeros(len(y))
    for w in list(range(len(y))) * sweeps:
        loop[w] += y[w] * sum(loop[i] * y[i] * G[i, w] for i in np.flatnonzero(loop)) <= 0
        matrix[w] += y[w] * ((matrix * y) @ (G @ np.eye(1, len(y), w)[0])) <= 0
    return loop, matrix


@method(sources=("penn",))
def kernel_perceptron(
    key,
    shape: OneOf("moons", "spirals") = "moons",
    samples: Int(20, 200) = 120,
    scale: Real(0.15, 0.3) = 0.25,
    noise: Real(0.0, 0.08) = 0.05,
):
    r"""Kernel perceptron.

    Keep α, the number of mistakes on each example: if $y_w \sum_i \alpha_i y_i k(x_i, x_w) \le 0$, then $\alpha_w$
    grows by 1. With the scores G(α∘y) stored, a mistake adds one column of G. In feature space it makes at most R²/ρ²
    updates, where R is the largest norm of a feature vector and ρ the margin.

    $$y_w \sum_i \alpha_i y_i k(x_i, x_w) \le 0 \;\Rightarrow\; \alpha_w \leftarrow \alpha_w + 1, \qquad \sum_i
    \alpha_i \le \frac{R^2}{\rho^2}$$

    Check: It is run on two moons or two spirals, and then on all 45 pairs of digits (1200 images) with a Gaussian
    kernel.
    """
    rng = data.generator(key)
    x, y = (moons if shape == "moons" else spirals)(samples, noise, rng)
    k = kernels.Gaussian(scale)
    run = machines.kernel_perceptron(k, x, y, epochs=100_000)
    yield exactly(run.converged, True, f"stops by itself on two {shape}")
    yield exactly(np.sum(y * run.scores <= 0), 0, "training mistakes at the stop")
    margin = machines.kernel_margin(k, x, y)
    bound = margin.radius**2 / margin.margin**2
    yield at_most(margin.residual, 1e-6, "optimality residual of the hard margin")
    yield at_most(run.updates, bound, f"updates on two {shape}, against R²/ρ²")
    few, sweeps = slice(0, 40), 3
    loop, matrix = slow_twins(k(x[few], x[few]), y[few], sweeps)
    short = machines.kernel_perceptron(k, x[few], y[few], epochs=sweeps)
    yield exactly(loop, short.mistakes, "α by the double sum, against the score vector")
    yield exactly(matrix, short.mistakes, "α by y_w (α∘y)ᵀG e_w, against the score vector")
    frugal = machines.kernel_perceptron(k, x[few], y[few], epochs=sweeps, store=False)
    yield exactly(frugal.mistakes, short.mistakes, "α with columns of G computed when needed, against the score vector")
    digits = data.digits_split(train=1200)
    gauss, labels = digit_kernel(digits.train_images), digits.train_labels
    G = gauss(digits.train_images, digits.train_images)
    updates, bounds, residuals = [], [], []
    for first, second in combinations(range(10), 2):
        rows = np.flatnonzero((labels == first) | (labels == second))
        images, signs = digits.train_images[rows], np.where(labels[rows] == first, 1.0, -1.0)
        part = G[np.ix_(rows, rows)]
        widest = machines.kernel_margin(gauss, images, signs, gram=part)
        bounds.append(widest.radius**2 / widest.margin**2)
        residuals.append(widest.residual)
        updates.append(machines.kernel_perceptron(gauss, images, signs, gram=part, epochs=1000).updates)
    updates, bounds = np.array(updates), np.array(bounds)
    ratio, rank = (updates / bounds).max(), spearmanr(updates, bounds).statistic
    yield at_most(residuals, 1e-6, "optimality residual of the 45 hard margins")
    yield at_most(updates, bounds, "digits: updates on all 45 pairs, against R²/ρ²")
    yield reference(ratio, 0.53, "digits: largest ratio of updates to bound", digits=1)
    yield at_least(rank, 0.9, "digits: Spearman correlation of updates and bound").as_empirical()
    grid = np.linspace(x.min(axis=0) - 0.3, x.max(axis=0) + 0.3, 60)
    cells = np.stack(np.meshgrid(grid[:, 0], grid[:, 1]), axis=-1).reshape(-1, 2)
    names = {"y = +1": y > 0, "y = −1": y < 0}
    updates_said = f"{run.updates} updates on {np.sum(run.mistakes > 0)} examples (bound {bound:.0f})"
    points = {name: x[part] for name, part in names.items()}
    sizes = {name: 25 + 60 * run.mistakes[part] for name, part in names.items()}
    regions = grid[:, 0], grid[:, 1], np.sign(run.expansion(cells)).reshape(60, 60)
    title = f"Two {shape}: no training error after {updates_said}; large points: many mistakes"
    yield figure.plane(title, "x₁", "x₂", points=points, sizes=sizes, regions=regions)
    line = np.array([bounds.min() * 0.9, bounds.max() * 1.1])
    found = f"largest ratio {ratio:.2f}, median {np.median(updates):.0f} updates, rank correlation {rank:.2f}"
    title = f"Digits: updates on the 45 pairs stay below R²/ρ² ({found})"
    axes = "R²/ρ² in feature space", "updates of the kernel perceptron"
    points = {"pairs of digits": (bounds, updates)}
    yield figure.curves(title, *axes, lines={"R²/ρ²": (line, line)}, points=points, log="xy")


@claim(sources=("penn",))
def kernel_perceptron_equals_feature_perceptron(
    key,
    dim: Int(1, 4) = 2,
    degree: Int(1, 3) = 2,
    samples: Int(5, 80) = 40,
    epochs: Int(1, 40) = 10,
    order: OneOf("cyclic", "permuted") = "cyclic",
):
    r"""Kernel and feature perceptrons coincide.

    With one stream of examples, w₀ = 0 and ties counted as mistakes, the kernel perceptron and the perceptron on
    explicit features make the same mistakes at the same times, and w = Σ αᵢ yᵢ φ(xᵢ).

    $$w = \sum_i \alpha_i y_i \phi(x_i), \qquad w \cdot \phi(x) = \sum_i \alpha_i y_i k(x_i, x)$$

    Assumes: both use the same stream, start and tie rule.

    Check: The kernel is a power of x·x' + 1, compared with its monomials, on labels given by a noisy circle.
    """
    keys = jax.random.split(key, 2)
    rng = data.generator(keys[0])
    x = rng.uniform(-1, 1, (samples, dim))
    y = np.where(np.sum(x**2, axis=1) + 0.2 * rng.normal(size=samples) > dim / 3, 1.0, -1.0)
    kernel, phi = kernels.Polynomial(degree, 1.0), monomial_features(x, degree, offset=1.0)
    dual = machines.kernel_perceptron(kernel, x, y, order=order, epochs=epochs, key=keys[1])
    primal = perceptrons.learn(phi, y, order=order, epochs=epochs, key=keys[1])
    yield exactly(dual.updates, primal.updates, "number of mistakes, against the feature perceptron")
    if dual.updates == primal.updates:
        yield exactly(dual.history, primal.history, "example of each mistake, against the feature perceptron")
        yield exactly(dual.times, primal.times, "presentations before each mistake, against the feature perceptron")
    yield exactly(dual.mistakes, primal.mistakes, "α at the end, against the feature perceptron")
    scores = phi @ np.asarray(primal.weights)
    size = 1 + float(np.abs(scores).max())
    yield close(dual.scores / size, scores / size, "scores at the end, against features, relative", atol=1e-9)
    rebuilt = np.asarray(perceptrons.mistake_weights(dual.mistakes, phi, y))
    yield close(rebuilt / size, np.asarray(primal.weights) / size, "Σ αᵢ yᵢ φ(xᵢ), against w, relative", atol=1e-9)
    other = machines.kernel_perceptron(kernel, x, y, order=order, tie="correct", epochs=epochs, key=keys[1])
    yield exactly(dual.times[0], 0, "ties as mistakes: presentations before the first update")
    yield exactly(other.updates, 0, "ties as correct: updates at step 1 and ever after")
    some = np.arange(0, dual.updates, max(1, dual.updates // 25))
    steps = {"features: w += y φ(x)": (np.asarray(primal.times) + 1, np.arange(1, primal.updates + 1))}
    points = {"kernel: α += 1": (dual.times[some] + 1, some + 1)}
    title = f"Kernel and feature perceptron make the same {dual.updates} mistakes at the same {dual.updates} times"
    yield figure.curves(title, "presentations", "mistakes so far", steps=steps, points=points)


@method(sources=("penn",))
def kernel_logistic(
    key,
    dim: Int(1, 4) = 2,
    degree: Int(1, 3) = 2,
    samples: Int(10, 100) = 40,
    gamma: Real(0.01, 0.2, log=True) = 0.02,
    passes: Int(40, 200) = 100,
):
    r"""Kernel logistic regression.

    Logistic descent has three equivalent forms: w ← w + η y x σ(−y w·x), the same with φ(x) for x, and βᵢ ← βᵢ + η yᵢ
    σ(−yᵢ(Gβ)ᵢ) for f = Σ βᵢ k(xᵢ, ·). Every example moves β, a real vector; separable data need a penalty or early
    stopping.

    $$\beta_i \leftarrow \beta_i + \eta\, y_i\, \sigma(-y_i (G\beta)_i)$$

    Check: The three forms are run side by side with a constant step size; then step sizes 1/(2γ(t + t₀)) lead to the
    optimum that Newton's method finds.
    """
    rng = data.generator(key)
    x = rng.uniform(-1, 1, (samples, dim))
    y = np.where(np.sum(x**2, axis=1) + 0.2 * rng.normal(size=samples) > dim / 3, 1.0, -1.0)
    y[:2] = [1.0, -1.0]
    stream = np.concatenate([rng.permutation(samples) for _ in range(passes)])
    first = stream[: 4 * samples]
    for name, kernel, phi in (
        ("x", kernels.Linear(), x),
        (f"monomials to degree {degree}", kernels.Polynomial(degree, 1.0), monomial_features(x, degree, offset=1.0)),
    ):
        G = kernel(x, x)
        dual = machines.kernel_logistic_descent(G, y, first, 0.3, gamma=gamma)
        primal = machines.feature_logistic_descent(phi, y, first, 0.3, gamma=gamma)
        yield close(dual.scores, primal.scores, f"scores after each of {len(first)} steps on {name}", atol=1e-9)
        yield close(phi.T @ dual.beta, primal.weights, f"Σ βᵢ φ(xᵢ), against w, on {name}", atol=1e-9)
    free = machines.kernel_logistic_descent(G, y, first, 0.3)
    yield exactly(np.sum(free.beta != 0), samples, "coefficients moved after 4 sweeps: every example")
    best = machines.kernel_logistic(kernel, x, y, gamma)
    yield at_most(best.residual, 1e-10, "|L'(fᵢ) + 2nγ αᵢ| at Newton's optimum")
    largest = float(np.max(np.diag(G)))
    steps = 1 / (2 * gamma * (np.arange(len(stream)) + largest / (2 * gamma) + 1))
    path = machines.kernel_logistic_descent(G, y, stream, steps, gamma=gamma)
    ends = np.arange(samples - 1, len(stream), samples)
    scores = path.betas[ends] @ G
    risk = np.mean(np.logaddexp(0, -y * scores), axis=1) + gamma * np.sum(path.betas[ends] * scores, axis=1)
    yield at_least(risk, best.objective, "penalised risk after each sweep, against the optimum", rtol=1e-12)
    start = float(np.log(2)) - best.objective
    excess = risk[-1] - best.objective
    yield at_most(excess, 0.1 * start, f"excess after {passes} sweeps, against a tenth of that at 0")
    title = f"Descent in kernel form comes within {excess:.1e} of the optimum {best.objective:.4f} that Newton finds"
    points, rules = {"descent": (np.arange(1, passes + 1), risk)}, {"optimum by Newton": ("y", best.objective)}
    yield figure.curves(title, "sweeps", "penalised logistic risk", points=points, rules=rules, log="x")
