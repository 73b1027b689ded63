"""The last layer: softmax, heads by task, and many classes from binary classifiers."""

from math import comb

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, learning, networks, training
from leadline.evidence import Int, Real, at_least, at_most, claim, close, exactly, method, model
from leadline.networks.architectures.heads import head_width
from leadline.presentation import figure

EPS = float(np.finfo(np.float64).eps)


@method(sources=("sheet",), shows=("learning.log_softmax",))
def softmax(
    key,
    classes: Int(2, 50) = 6,
    scale: Real(0.1, 10.0, log=True) = 2.0,
    temperature: Real(0.05, 20.0, log=True) = 1.0,
    shift: Real(-100.0, 100.0) = 30.0,
):
    r"""Softmax and its stable evaluation.

    Softmax turns scores into probabilities; it is evaluated after subtracting the largest score, does not change when
    all scores are shifted by the same number, and for two classes is the sigmoid of their difference.

    $$\mathrm{softmax}_i(x) = \frac{e^{x_i}}{\sum_j e^{x_j}} = \mathrm{softmax}_i(x - c\,\mathbf{1}), \quad k = 2: \;
    \sigma(x_1 - x_2)$$

    Check: There are 500 random score vectors of a chosen scale; the shift is an exact multiple of 1/16, so that it
    adds no rounding.
    """
    x = scale * data.generator(key).normal(size=(500, classes))
    x = np.round(x * 2**20) / 2**20  # so that x + c is exact
    p = learning.softmax(x, temperature)
    yield close(p.sum(axis=1), 1.0, "sum of the probabilities", atol=classes * EPS)
    moved = learning.softmax(x + np.round(16 * shift) / 16, temperature)
    # Dividing by the temperature rounds the scores relative to their size: an error of size |x + c| ε / T in them.
    rounding = (np.abs(x).max() + abs(shift) + 1) / temperature * 4 * EPS
    yield close(moved, p, "probabilities of shifted scores", atol=rounding, rtol=rounding)
    huge = np.asarray(learning.softmax(x * (1e4 / np.abs(x).max())))
    yield exactly((~np.isfinite(huge)).sum(), 0, "values not finite with scores up to 10⁴")
    with np.errstate(all="ignore"):
        literal = np.exp(1e4) / (np.exp(1e4) + 1)
    yield exactly(str(literal), "nan", "the formula as it stands at the scores 10⁴ and 0")
    two = learning.softmax(x[:, :2])[:, 0]
    yield close(two, jax.nn.sigmoid(x[:, 0] - x[:, 1]), "softmax of two classes, against σ(x₁ − x₂)", rtol=1e-14)
    yield exactly(p.argmax(axis=1), x.argmax(axis=1), "most probable class, against that of the largest score")
    shown, bars = x[0][:12], {}
    for t in sorted({0.3, temperature, 5.0}):
        bars[f"T = {t:g}"] = {str(i + 1): float(v) for i, v in enumerate(learning.softmax(shown, t))}
    top = learning.softmax(shown, temperature).max()
    title = f"At temperature {temperature:g} the largest of {len(shown)} scores has probability {top:.2g}"
    yield figure.bars(title, "class", "probability", values=bars)


@claim(sources=("sheet",))
def softmax_jacobian(key, classes: Int(2, 50) = 8, scale: Real(0.1, 3.0, log=True) = 1.0):
    r"""Jacobian of softmax.

    The Jacobian of softmax is diag(s) − s sᵀ: symmetric and positive semidefinite; its null space is spanned by the
    all-ones vector 1 as long as all probabilities are positive.

    $$J = \mathrm{diag}(s) - s s^\top, \quad J \mathbf{1} = 0, \quad \lambda_2(J) \ge \min_i s_i > 0$$

    Check: It is checked on one random vector of scores. λ₂ ≥ min s holds by interlacing: J is diag(s) minus a matrix
    of rank one.
    """
    x = scale * jax.random.normal(key, (classes,))
    s = np.asarray(learning.softmax(x))
    matrix = np.asarray(learning.softmax_jacobian(x))
    yield close(matrix, jax.jacobian(learning.softmax)(x), "J, against automatic differentiation", atol=1e-14)
    yield close(matrix, np.diag(s) - np.outer(s, s), "J, against diag(s) − s sᵀ", atol=1e-15)
    yield at_most(np.abs(matrix - matrix.T).max(), 0.0, "largest entry of J − Jᵀ")
    yield close(matrix.sum(axis=1), 0.0, "entries of J 1", atol=1e-15)
    spectrum, number = np.linalg.eigvalsh(matrix), np.arange(1, classes + 1)
    yield close(spectrum[0], 0.0, "smallest eigenvalue of J", atol=1e-14)
    yield at_least(spectrum[1], s.min(), "second smallest eigenvalue of J, against the least probability", atol=1e-14)
    yield at_most(spectrum[-1], s.max(), "largest eigenvalue of J, against the largest probability", atol=1e-14)
    between = "Each eigenvalue but the first lies between two neighbouring probabilities"
    points = {"eigenvalue": (number, spectrum), "probability, sorted": (number, np.sort(s))}
    yield figure.beside(
        f"diag(s) − s sᵀ: one eigenvalue 0, the next {spectrum[1]:.2g}",
        figure.heatmap("The Jacobian", "score", "probability", values=matrix, colour="∂s/∂x", diverging=True),
        figure.curves(between, "number", "value", points=points),
    )


class _Heads(eqx.Module):
    """One body and a head of each kind on it."""

    body: networks.MLP
    heads: tuple[networks.TaskHead, ...]

    def __call__(self, x):
        features = self.body(x)
        return tuple(head(features) for head in self.heads)


def _three_blobs(rng, n):
    """Three classes in the plane, and the distance to the middle as a real target."""
    y = rng.integers(3, size=n)
    centres = 1.6 * np.array([[np.cos(a), np.sin(a)] for a in 2 * np.pi * np.arange(3) / 3 + np.pi / 2])
    x = centres[y] + 0.55 * rng.normal(size=(n, 2))
    return x, y, np.linalg.norm(x, axis=1)


@model(sources=("cam", "penn"))
def task_heads(
    key,
    features: Int(1, 64, log=True) = 16,
    classes: Int(2, 20) = 4,
    targets: Int(1, 10) = 3,
    temperature: Real(0.05, 20.0, log=True) = 0.5,
    shift: Real(-10.0, 10.0) = 3.0,
):
    r"""Output heads for regression and classification.

    The last layer is matched to the task: m outputs for m real targets, the sign of one output for two classes, the
    largest of C outputs for C classes. Decisions carry no gradient; outputs are logits, not log-probabilities.

    $$\Phi(x) \in \mathbb{R}^m, \quad \mathrm{sgn}\,\Phi(x), \quad \operatorname{argmax}_j \Phi_j(x), \quad \log p_k =
    \hat y_k - \log \sum_j e^{\hat y_j}$$

    Check: Random heads serve for the shapes and gradients; the picture shows one trained body with the three heads.
    """
    keys = jax.random.split(key, 5)
    sizes = {"regression": targets, "binary": 1, "classes": classes}
    heads = {t: networks.TaskHead(features, t, n, key=k) for (t, n), k in zip(sizes.items(), keys, strict=False)}
    h = jax.random.normal(keys[3], (100, features))
    outputs = {task: jax.vmap(head)(h) for task, head in heads.items()}
    for task, head in heads.items():
        yield exactly(head.linear.weight.shape, (sizes[task], features), f"weights of the {task} head")
        yield exactly(head_width(task, sizes[task]), outputs[task].shape[1], f"outputs of the {task} head")
    shapes = [size for task in sizes for size in heads[task].decide(outputs[task]).shape]
    yield exactly(shapes, [100, targets, 100, 100], "shapes of the three decisions on 100 inputs, one after the other")
    logits, head = outputs["classes"], heads["classes"]
    chosen = np.asarray(head.decide(logits))
    yield exactly(head.decide(logits + shift), chosen, "argmax with a constant added to the logits")
    warm = learning.softmax(logits, temperature)
    gap = np.sort(np.asarray(logits), axis=1)
    clear = (gap[:, -1] - gap[:, -2]) / temperature > 1e-9  # else softmax may round two classes together
    yield exactly(warm.argmax(axis=1)[clear], chosen[clear], f"argmax of the softmax at T = {temperature:g}")
    log_p = head.log_probabilities(logits)
    yield close(jnp.exp(log_p).sum(axis=1), 1.0, "sum of exp(ŷ − logsumexp ŷ)", atol=1e-14)
    yield close(log_p - logits, (log_p - logits)[:, :1], "log p − ŷ is one number a row", atol=1e-12)
    decided = jax.grad(lambda w: head.decide(h @ w.T).astype(float).sum())(head.linear.weight)
    yield exactly(jnp.abs(decided).max(), 0.0, "gradient of the argmax in the weights")
    signed = jax.grad(lambda w: heads["binary"].decide(h @ w.T).sum())(heads["binary"].linear.weight)
    yield exactly(jnp.abs(signed).max(), 0.0, "gradient of the sign in the weights")
    surrogate = jax.grad(lambda w: learning.cross_entropy(h @ w.T, jnp.asarray(chosen)).mean())(head.linear.weight)
    yield at_least(jnp.abs(surrogate).max(), 0.0, "gradient of the cross-entropy in the weights", strict=True)
    x, y, radius = _three_blobs(data.generator(keys[4]), 150)
    body = networks.MLP((2, 16), "tanh", bias_scale=1.0, last_activation=True, key=keys[0])
    tasks = (("regression", 1), ("binary", 1), ("classes", 3))
    net = _Heads(body, tuple(networks.TaskHead(16, task, n, key=keys[1]) for task, n in tasks))

    def loss(net, x, y, radius):
        value, score, logits = jax.vmap(net)(x)
        binary = learning.logistic(jnp.where(y == 0, 1.0, -1.0) * score[:, 0])
        return jnp.mean((value[:, 0] - radius) ** 2 + binary + learning.cross_entropy(logits, y))

    net, _ = training.minimise(loss, net, optax.adam(0.03), 300, jnp.asarray(x), jnp.asarray(y), jnp.asarray(radius))
    xs = np.linspace(-3.6, 3.6, 37)
    grid = jnp.asarray(np.stack(np.meshgrid(xs, xs), -1).reshape(-1, 2))
    seen, mapped = (
        [np.asarray(head.decide(out)) for head, out in zip(net.heads, jax.vmap(net)(inputs), strict=True)]
        for inputs in (jnp.asarray(x), grid)
    )
    right = np.mean(seen[1] == np.where(y == 0, 1, -1)), np.mean(seen[2] == y)
    points = {f"class {c}": x[y == c] for c in range(3)}
    names = ("real target: the distance to 0", "two classes: the sign", "three classes: the largest output")
    panels = []
    for name, values in zip(names, mapped, strict=True):
        panels.append(figure.plane(name, "x₁", "x₂", points=points, regions=(xs, xs, values.reshape(len(xs), -1))))
    title = f"Three heads on one body: training accuracy {right[0]:.2f} with two classes, {right[1]:.2f} with three"
    yield figure.beside(title, *panels, columns=3)


@method(sources=("penn",))
def multiclass_from_binary(key, classes: Int(3, 10) = 10, bits: Int(7, 16) = 15, train: Int(200, 1200) = 600):
    r"""Multiclass from binary classifiers.

    C classes from binary classifiers: one against the rest (C of them), one against one (C(C−1)/2), or a code of at
    least log₂ C bits, which corrects ⌊(D−1)/2⌋ wrong bits if its minimum distance is D.

    $$C, \quad \binom{C}{2}, \quad \ge \lceil \log_2 C \rceil, \qquad t = \lfloor (D - 1)/2 \rfloor$$

    Check: The classes are the first digits, the binary classifiers are logistic regressions, and ties count as
    ambiguous votes.
    """
    from itertools import combinations

    code = networks.random_code(classes, bits, key=key)
    codes = {"one against the rest": networks.one_vs_rest(classes), "one against one": networks.one_vs_one(classes)}
    codes[f"code of {bits} bits"] = code
    counted = [c.shape[1] for c in codes.values()]
    yield exactly(counted, [classes, comb(classes, 2), bits], "number of binary classifiers")
    fewest = int(np.ceil(np.log2(classes)))
    short = networks.random_code(classes, fewest, key=key)
    yield exactly(len(np.unique(short, axis=0)), classes, f"different code words with {fewest} = ⌈log₂ C⌉ bits")
    try:
        refused = str(networks.random_code(classes, fewest - 1, key=key).shape)
    except ValueError:
        refused = "refused"
    yield exactly(refused, "refused", f"a code of {classes} words with {fewest - 1} bits")
    distance = networks.minimum_distance(code)
    correctable = (distance - 1) // 2
    tried = wrong = 0
    for flips in range(correctable + 1):
        for places in combinations(range(bits), flips):
            word = code.copy()
            word[:, list(places)] *= -1
            found = networks.decode(code, word)
            tried += classes
            wrong += int(np.sum((found.classes != np.arange(classes)) | found.ambiguous))
    what = f"words decoded wrongly, all {tried} with at most {correctable} of {bits} bits flipped, D = {distance}"
    yield exactly(wrong, 0, what)
    half = -(-distance // 2)  # flipping half of the bits in which the two nearest rows differ
    apart = (code[:, None] * code[None] < 0).sum(-1) + 2 * bits * np.eye(classes, dtype=int)
    first, second = np.unravel_index(apart.argmin(), apart.shape)
    word = code[first].copy()
    word[np.flatnonzero(code[first] != code[second])[:half]] *= -1
    found = networks.decode(code, word[None])
    lost = (found.classes != first) | found.ambiguous
    yield exactly(lost.sum(), 1, f"words decoded wrongly, one with {half} flipped bits on the way to its neighbour")
    train_x, train_y, test_x, test_y = data.digits_split()
    kept, tested = train_y < classes, test_y < classes
    train_x, train_y = train_x[kept][:train], train_y[kept][:train]
    test_x, test_y = test_x[tested], test_y[tested]
    panels, accuracy = [], []
    for name, matrix in codes.items():
        fitted = networks.fit_output_code(matrix, train_x, train_y)
        soft, ambiguous = fitted.predict(test_x, distance="soft").classes, fitted.predict(test_x).ambiguous.mean()
        accuracy.append(np.mean(soft == test_y))
        confusion = np.zeros((classes, classes))
        np.add.at(confusion, (test_y, soft), 1)
        title = f"{name}: {accuracy[-1]:.3f}, {ambiguous:.1%} of votes ambiguous"
        panels.append(figure.heatmap(title, "predicted", "digit", values=confusion, colour="images", text=True))
    yield at_least(accuracy, 1 / classes, "accuracy of each scheme, against guessing", strict=True)
    numbers = "{}, {} and {}".format(*counted)
    title = f"{numbers} binary classifiers for {classes} digits: accuracy " + ", ".join(f"{a:.3f}" for a in accuracy)
    yield figure.beside(title, *panels, columns=3)
