"""Label sets: one sigmoid a class, what its loss needs, and why a softmax does not fit them."""

from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, learning
from leadline.evidence import Range, at_least, at_most, claim, close, exactly, figure, method, printed

FRESH = 4000  # label sets on which a fit is judged


@method(
    "multi-label-bce",
    says=(
        "Label sets are fitted by one logistic output a class on shared features: the loss is the sum of the binary "
        "cross-entropies, with a term for the classes that are absent, and its gradient in the logits is p − t."
    ),
    formula=(
        r"-\sum_k [t_k \log p_k + (1 - t_k) \log(1 - p_k)], \qquad p_k = \sigma(z_k), \qquad \frac{\partial "
        r"\ell}{\partial z} = p - t"
    ),
    sources=("penn",),
    shows=(
        "learning.binary_cross_entropy", "learning.multi_label_loss", "learning.fit_linear_scores",
        "learning.LinearScores",
    ),
)  # fmt: skip
def multi_label_bce(
    key,
    classes: Annotated[int, Range(2, 12)] = 6,
    samples: Annotated[int, Range(400, 1500)] = 600,
    strength: Annotated[float, Range(2.5, 5.0)] = 3.0,
):
    """Twenty Gaussian features; label k is present with probability σ(w_k·x − 1), w_k random of length `strength`."""
    rng = data.generator(key)
    truth = rng.normal(size=(20, classes))
    truth *= strength / np.linalg.norm(truth, axis=0)
    x = rng.normal(size=(samples + FRESH, 20))
    z = x @ truth - 1.0
    t = (rng.random(z.shape) < 1 / (1 + np.exp(-z))).astype(float)
    loss = np.asarray(learning.multi_label_loss(z, t))
    parts = sum(np.asarray(learning.logistic((2 * t[:, k] - 1) * z[:, k])) for k in range(classes))
    yield close(loss, parts, "loss of a label set against the sum of the logistic losses", rtol=1e-12)
    gradient = jax.grad(lambda z: learning.multi_label_loss(z, t).sum())(jnp.asarray(z))
    yield close(gradient, 1 / (1 + np.exp(-z)) - t, "gradient against p − t", atol=1e-12)

    train, test = slice(0, samples), slice(samples, None)
    fit = learning.fit_linear_scores(x[train], t[train], link="sigmoid", ridge=1e-3)
    penalty = 0.0005 * (np.linalg.norm(truth) ** 2 - np.linalg.norm(fit.weights) ** 2)
    yield at_most(
        fit.loss, loss[train].mean() + penalty, "training loss of the fit against that of the truth", rtol=1e-9
    )
    reported = fit.logits(x[test]) > 0
    f1 = [learning.precision_recall(t[test, k], reported[:, k]).f1 for k in range(classes)]
    always = [learning.precision_recall(t[test, k], np.ones(FRESH)).f1 for k in range(classes)]
    exact = float((reported == t[test]).all(axis=1).mean())
    common = float((np.round(t[train].mean(axis=0)) == t[test]).all(axis=1).mean())
    yield at_least(
        np.mean(f1), np.mean(always), "mean F1 on fresh label sets against reporting every class", strict=True
    )
    yield at_least(
        exact, common, "exact matches against always reporting the classes present in most sets", strict=True
    )
    hot = np.eye(classes)[rng.integers(0, classes, len(z))]
    for name, target in (("one-hot", hot), ("multi-hot", t)):
        truncated = (target * np.logaddexp(0, -z)).sum(axis=1)
        full = np.asarray(learning.multi_label_loss(z, target))
        yield printed(
            close(truncated.mean(), full.mean(), f"mean loss, {name} targets", rtol=0.01),
            "penn", "−Σ t log p, without (1 − t) log(1 − p)",
        )  # fmt: skip
    names = [str(k) for k in range(1, classes + 1)]
    yield figure.bars(
        f"{classes} sigmoids on shared features: mean F1 {np.mean(f1):.2f}, exact match {exact:.2f} on {FRESH} "
        "fresh label sets",
        x="class", y="F1",
        values={
            "fitted": dict(zip(names, f1, strict=True)), "every class reported": dict(zip(names, always, strict=True)),
        },
    )  # fmt: skip


@claim(
    "bce-needs-negative-term",
    says=(
        "Without the term of absent classes, −Σ t log σ(z) falls as every logit rises: its infimum 0 is reached when "
        "every class "
        "is reported. The full loss is least at p = E[t|x]."
    ),
    formula=(
        r"-\sum_k t_k \log \sigma(z_k) \to 0 \ \text{ as all } z_k \to \infty, \qquad \mathrm{argmin}_p "
        r"E\,\ell_{\mathrm{BCE}} = E[t|x]"
    ),
    sources=("penn",),
)
def bce_needs_negative_term(
    key,
    classes: Annotated[int, Range(2, 10)] = 4,
    samples: Annotated[int, Range(200, 2000)] = 500,
    starts: Annotated[int, Range(2, 30)] = 10,
):
    """No features: one logit a class, prevalences from 0.1 to 0.6, gradient descent with step 4 from random logits."""
    rng = data.generator(key)
    prevalence = np.linspace(0.1, 0.6, classes)
    t = (rng.random((samples, classes)) < prevalence).astype(float)
    t[0], t[1] = 1.0, 0.0  # every class is present once and absent once
    share = t.mean(axis=0)
    steps, rate = 2000, 4.0
    start = 2 * rng.normal(size=(starts, classes))
    full, cut = (np.asarray(p) for p in _paths(jnp.asarray(start), jnp.asarray(share), rate, steps))
    yield close(
        full[-1],
        np.broadcast_to(share, full[-1].shape),
        "full loss: final probability against the prevalence",
        atol=0.01,
    )
    yield at_least(cut[-1], 0.99, "truncated loss: final probability of every class")
    reported = np.broadcast_to(cut[-1, 0] > 0.5, t.shape)
    precision = [learning.precision_recall(t[:, k], reported[:, k]).precision for k in range(classes)]
    yield close(precision, share, "truncated loss: precision against the prevalence", rtol=1e-12)
    # Gradient flow: dz/ds = π σ(-z), so z + exp(z) rises by π s.
    flow = _flow(start[0], share, rate * np.arange(steps))
    late = slice(200, None, 50)
    yield close(
        cut[late, 0], flow[late], "truncated loss: probabilities against gradient flow from step 200", atol=0.02
    )
    yield printed(
        close(cut[-1].mean(axis=0), share, "truncated loss: final probability against the prevalence", atol=0.01),
        "penn", "−Σ t log σ(z)",
    )  # fmt: skip
    one = np.eye(classes)[0]
    push = jax.grad(lambda z: learning.multi_label_loss(z, one))(jnp.asarray(start[0]))
    yield printed(
        exactly(int((np.abs(np.asarray(push)) > 0).sum()), 1, "classifiers with a gradient, full loss, one-hot target"),
        "penn", "only one classifier is penalised",
    )  # fmt: skip

    some = np.unique(np.geomspace(1, steps, 25).astype(int)) - 1
    shown = range(0, classes, max(1, classes // 3))

    def panel(title, path, lines):
        names = {k: f"prevalence {share[k]:.2f}" for k in shown}
        return figure.curves(
            title, x="step", y="probability", log="x", lines={names[k]: (some + 1, lines[some][:, k]) for k in shown},
            points={names[k]: (some + 1, path[some, 0, k]) for k in shown},
        )  # fmt: skip

    yield figure.beside(
        f"Truncated, all {classes} probabilities end above {cut[-1].min():.3f}; the full loss finds the prevalences",
        panel("full loss (lines: prevalence)", full, np.broadcast_to(share, (steps, classes))),
        panel("without the negative term (lines: gradient flow)", cut, flow),
    )


@partial(jax.jit, static_argnums=3)
def _paths(start, share, rate, steps):
    """Probabilities over gradient descent on the full and on the truncated loss; labels enter by their shares."""

    def step(state, _):
        full, cut = state
        p, q = jax.nn.sigmoid(full), jax.nn.sigmoid(cut)
        return (full - rate * (p - share), cut + rate * share * (1 - q)), (p, q)

    return jax.lax.scan(step, (start, start), None, length=steps)[1]


def _flow(start, share, time):
    """σ(z(s)) with z + exp(z) = z₀ + exp(z₀) + π s: exp(z) = W(exp(right side)), by Newton's method in z."""
    right = start + np.exp(start) + np.multiply.outer(time, share)
    z = np.where(right > 1, np.log(np.maximum(right, 1.0)), right)
    for _ in range(50):
        z = z - (z + np.exp(z) - right) / (1 + np.exp(z))
    return 1 / (1 + np.exp(-z))


@claim(
    "independent-sigmoids-not-a-distribution",
    says=(
        "Independent sigmoids do not sum to 1: the sum may be anything between 0 and m. On digits, thresholded "
        "sigmoids report "
        "no class or several for some images, where softmax with argmax reports exactly one."
    ),
    formula=r"0 < \sum_k \sigma(z_k) < m, \qquad \sum_k \mathrm{softmax}_k(z) = 1",
    sources=("penn",),
)
def independent_sigmoids_not_a_distribution(
    key,
    training: Annotated[int, Range(200, 1200)] = 1200,
    ridge: Annotated[float, Range(1e-4, 1e-1, log=True)] = 1e-3,
):
    """Ten sigmoids and one softmax, both linear in the pixels, fitted to `training` digits; 597 others judge them."""
    images, labels, test_images, test_labels = data.digits_split(train=1200)
    chosen = data.generator(key).permutation(1200)[:training]
    hot = np.asarray(learning.one_hot(labels[chosen], 10))
    separate = learning.fit_linear_scores(images[chosen], hot, link="sigmoid", ridge=ridge, iterations=200)
    joint = learning.fit_linear_scores(images[chosen], hot, ridge=ridge, iterations=200)
    z = separate.logits(test_images)
    p, q = 1 / (1 + np.exp(-z)), np.asarray(learning.softmax(joint.logits(test_images)))
    sums = p.sum(axis=1)
    yield close(q.sum(axis=1), 1.0, "sum of the softmax probabilities", atol=1e-12)
    yield at_least(sums, 0.0, "sum of the sigmoids", strict=True)
    yield at_most(sums, 10.0, "sum of the sigmoids", strict=True)
    ends = [jax.nn.sigmoid(c * jnp.ones(10)).sum() for c in (-30.0, 30.0)]
    yield close(ends, [0.0, 10.0], "sum of the sigmoids at logits −30 and 30: both ends are reached", atol=1e-9)
    yield at_least(np.abs(sums - 1).max(), 0.1, "largest distance of the sum from 1")
    count = (p > 0.5).sum(axis=1)
    numbers = {
        name: int(n)
        for name, n in (("none", (count == 0).sum()), ("one", (count == 1).sum()), ("several", (count > 1).sum()))
    }
    yield at_least(
        (count != 1).mean(), 0.0, f"share of images without exactly one class above 1/2: {numbers}", strict=True
    )
    yield exactly(
        len(np.asarray(learning.predicted_class(q))), len(test_labels), "images for which softmax names one class"
    )
    right = [learning.error_rate(test_labels, a.argmax(axis=1)) for a in (p, q)]
    yield figure.histogram(
        f"Sums of ten sigmoids on 597 digits: {numbers['none']} images have no class above 1/2, {numbers['several']} "
        "several; "
        f"error by argmax {right[0]:.3f}, softmax {right[1]:.3f}",
        x="Σ σ(z)", samples={"sigmoids": sums}, rules={"softmax: always 1": ("x", 1.0)}, bins=40,
    )  # fmt: skip


@claim(
    "multi-hot-softmax",
    says=(
        "Fitted to K present classes, a softmax gives each of them 1/K, not all to one. So no fixed threshold works "
        "for every K, "
        "and an empty set costs nothing whatever is predicted; sigmoids have neither trouble."
    ),
    formula=r"\mathrm{argmin}_p -\sum_k t_k \log p_k = t / K, \qquad t = 0: \ \text{loss } 0 \text{ for every } p",
    sources=("penn",),
)
def multi_hot_softmax(
    key,
    classes: Annotated[int, Range(6, 12)] = 8,
    threshold: Annotated[float, Range(0.15, 0.6)] = 0.3,
    noise: Annotated[float, Range(0.02, 0.12)] = 0.08,
    samples: Annotated[int, Range(400, 1500)] = 800,
):
    """An input is the sum of the present classes' codes plus Gaussian noise; K is uniform on 1..m−2."""
    for m, present in ((4, 2), (classes, classes // 2)):
        t = np.append(np.ones(present), np.zeros(m - present))
        path = _softmax_path(jnp.asarray(t), jnp.asarray(data.generator(key).normal(size=m)))
        p = np.asarray(learning.softmax(path[-1]))
        yield close(p, t / present, f"softmax at the end of descent, m = {m}, K = {present}", atol=1e-3)
        least = present * np.log(present)
        yield at_least(
            learning.cross_entropy(path, np.broadcast_to(t, path.shape)),
            least,
            f"loss against K log K, K = {present}",
            rtol=1e-12,
        )
        if m == 4:
            yield printed(
                at_least(p.max(), 0.99, "largest probability with two classes present"),
                "penn", "softmax amplifies only the largest logit, so a single class is predicted",
            )  # fmt: skip
    z = 3 * data.generator(key).normal(size=(20, classes))
    yield exactly(
        learning.cross_entropy(z, np.zeros((20, classes))), 0.0, "softmax loss of the empty set at any logits"
    )
    none = np.asarray(learning.multi_label_loss(z, np.zeros((20, classes))))
    yield at_least(none, 0.0, "sigmoids' loss of the empty set", strict=True)

    rng = data.generator(jax.random.fold_in(key, 1))
    t = np.stack([rng.permutation(np.arange(classes) < k) for k in rng.integers(1, classes - 1, 2 * samples)]).astype(
        float
    )
    x = t + noise * rng.normal(size=t.shape)
    train, test = slice(0, samples), slice(samples, None)
    joint = learning.fit_linear_scores(x[train], t[train], ridge=1e-3, iterations=300)
    apart = learning.fit_linear_scores(x[train], t[train], link="sigmoid", ridge=1e-3, iterations=300)
    found = np.asarray(learning.softmax(joint.logits(x[test]))) > threshold, apart.logits(x[test]) > 0
    size, counts = t[test].sum(axis=1).astype(int), np.arange(1, classes - 1)
    f1 = np.array(
        [
            [learning.precision_recall(t[test][size == k].ravel(), f[size == k].ravel()).f1 for k in counts]
            for f in found
        ]
    )
    room = np.floor(1 / threshold)  # more classes cannot all exceed the threshold
    bound = np.where(counts <= room, 1.0, 2 * room / (room + counts))
    yield at_most(
        f1[0],
        bound,
        f"F1 of the softmax above {threshold:.2g}, against what probabilities that sum to 1 allow",
        atol=1e-12,
    )
    yield at_least(f1[1], 0.9, "F1 of the sigmoids above 1/2, for every K")
    probabilities = {f"K = {k}": {str(j): (1 / k if j <= k else 0.0) for j in range(1, 5)} for k in (1, 2, 3)}
    yield figure.beside(
        f"With K classes present softmax gives each 1/K: above the threshold {threshold:.2g} its F1 falls to "
        f"{f1[0, -1]:.2g} at "
        f"K = {counts[-1]}, the sigmoids' stays at {f1[1, -1]:.2g}",
        figure.bars("best softmax probabilities, m = 4", x="class", y="probability", values=probabilities),
        figure.curves("F1 on fresh label sets", x="present classes K", y="F1",
                      lines={"bound for softmax": (counts, bound)},
                      points={f"softmax > {threshold:.2g}": (counts, f1[0]), "sigmoids > 1/2": (counts, f1[1])}),
    )  # fmt: skip


@jax.jit
def _softmax_path(t, start):
    """Logits over gradient descent with step 1/K on −Σ t log softmax."""

    def step(z, _):
        return z - (jax.nn.softmax(z) - t / t.sum()), z

    return jax.lax.scan(step, start, None, length=5000)[1]
