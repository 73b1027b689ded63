"""Label sets: one sigmoid a class, what its loss needs, and why a softmax does not fit them."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from leadline import data, learning, optimisation
from leadline.evidence import Int, Real, at_least, at_most, claim, close, erratum, exactly, method
from leadline.presentation import figure

FRESH = 4000  # label sets on which a fit is judged


@method(sources=("penn",), shows=("learning.binary_cross_entropy",))
def multi_label_bce(key, classes: Int(2, 12) = 6, samples: Int(400, 1500) = 600, strength: Real(2.5, 5.0) = 3.0):
    r"""Binary cross-entropy for multi-label classification.

    Label sets are fitted by one logistic output per class on shared features: the loss is the sum of the binary
    cross-entropies, with a term for the classes that are absent, and its gradient with respect to the logits is p − t.

    $$-\sum_k [t_k \log p_k + (1 - t_k) \log(1 - p_k)], \qquad p_k = \sigma(z_k), \qquad \frac{\partial \ell}{\partial
    z} = p - t$$

    Check: There are twenty Gaussian features. Label k is present with probability $\sigma(w_k \cdot x - 1)$, where
    $w_k$ is random of length `strength`.
    """
    rng = data.generator(key)
    truth = rng.normal(size=(20, classes))
    truth *= strength / np.linalg.norm(truth, axis=0)
    x = rng.normal(size=(samples + FRESH, 20))
    z = x @ truth - 1.0
    t = (rng.random(z.shape) < 1 / (1 + np.exp(-z))).astype(float)
    loss = np.asarray(learning.multi_label_loss(z, t))
    parts = learning.logistic((2 * t - 1) * z).sum(axis=1)
    whole = close(loss, parts, "loss of a label set against the sum of the logistic losses", rtol=1e-12)
    yield whole
    gradient = jax.grad(lambda z: learning.multi_label_loss(z, t).sum())(jnp.asarray(z))
    yield close(gradient, 1 / (1 + np.exp(-z)) - t, "gradient of the loss against p − t", atol=1e-12)
    train, test = slice(0, samples), slice(samples, None)
    fit = learning.fit_linear_scores(x[train], t[train], link="sigmoid", ridge=1e-3)
    penalty = 0.0005 * (np.linalg.norm(truth) ** 2 - np.linalg.norm(fit.weights) ** 2)
    truly = loss[train].mean() + penalty
    yield at_most(fit.loss, truly, "training loss of the fit against that of the truth", rtol=1e-9)
    reported = fit.logits(x[test]) > 0
    f1 = [learning.precision_recall(t[test, k], reported[:, k]).f1 for k in range(classes)]
    always = [learning.precision_recall(t[test, k], np.ones(FRESH)).f1 for k in range(classes)]
    exact = (reported == t[test]).all(axis=1).mean()
    common = (np.round(t[train].mean(axis=0)) == t[test]).all(axis=1).mean()
    what = "mean F1 on fresh label sets against reporting every class"
    yield at_least(np.mean(f1), np.mean(always), what, strict=True)
    what = "exact matches against always reporting the classes present in most sets"
    yield at_least(exact, common, what, strict=True)
    hot = np.eye(classes)[rng.integers(0, classes, len(z))]
    for name, target in (("one-hot", hot), ("multi-hot", t)):
        truncated = (target * np.logaddexp(0, -z)).sum(axis=1).mean()
        parts = learning.logistic((2 * target - 1) * z).sum(axis=1).mean()
        what = f"mean of −Σ t log p against the sum of the logistic losses, {name} targets"
        prints = "−Σ t log p, 'exactly like running m independent binary logistic classifiers'"
        yield erratum(close(truncated, parts, what, rtol=0.01), of=whole, by="penn", prints=prints)
    heights = {"fitted": dict(enumerate(f1, 1)), "every class reported": dict(enumerate(always, 1))}
    found = f"mean F1 {np.mean(f1):.2f}, exact match {exact:.2f} on {FRESH} fresh label sets"
    yield figure.bars(f"{classes} sigmoids on shared features: {found}", "class", "F1", values=heights)


@claim(sources=("penn",))
def bce_needs_negative_term(key, classes: Int(2, 10) = 4, samples: Int(200, 2000) = 500, starts: Int(2, 30) = 10):
    r"""Binary cross-entropy needs its negative term.

    Without the term for absent classes, −∑ t log σ(z) falls as every logit rises: its infimum 0 is approached when
    every class is reported. The full loss is least at p = E[t|x].

    $$-\sum_k t_k \log \sigma(z_k) \to 0 \ \text{ as all } z_k \to \infty, \qquad \mathrm{argmin}_p
    E\,\ell_{\mathrm{BCE}} = E[t|x]$$

    Check: There are no features: each class has one logit, with prevalences from 0.1 to 0.6, and gradient descent with
    step size 4 starts from random logits.
    """
    rng = data.generator(key)
    prevalence = np.linspace(0.1, 0.6, classes)
    t = (rng.random((samples, classes)) < prevalence).astype(float)
    t[0], t[1] = 1.0, 0.0  # every class is present once and absent once
    share = t.mean(axis=0)
    steps, rate, start = 2000, 4.0, 2 * rng.normal(size=(starts, classes))
    full, cut = (np.asarray(p) for p in _paths(start, share, rate, steps))
    yield close(full[-1], share, "full loss: final probability against the prevalence", atol=0.01)
    yield at_least(cut[-1], 0.99, "truncated loss: final probability of every class")
    reported = np.broadcast_to(cut[-1, 0] > 0.5, t.shape)
    precision = [learning.precision_recall(t[:, k], reported[:, k]).precision for k in range(classes)]
    yield close(precision, share, "truncated loss: precision against the prevalence", rtol=1e-12)
    flow, late = _flow(start[0], share, rate * np.arange(steps)), slice(200, None, 50)
    what = "truncated loss: probabilities against gradient flow from step 200"
    yield close(cut[late, 0], flow[late], what, atol=0.02)
    step, shown = np.arange(1, steps + 1), range(0, classes, max(1, classes // 3))
    some = np.unique(np.geomspace(1, steps, 25).astype(int)) - 1

    def panel(title, path, predicted):
        lines = {f"prevalence {share[k]:.2f}": (step, predicted[:, k]) for k in shown}
        points = {f"prevalence {share[k]:.2f}": (step[some], path[some, 0, k]) for k in shown}
        return figure.curves(title, "step", "probability", log="x", lines=lines, points=points)

    yield figure.beside(
        f"Truncated, all {classes} probabilities end above {cut[-1].min():.3f}; the full loss finds the prevalences",
        panel("full loss (lines: prevalence)", full, np.broadcast_to(share, (steps, classes))),
        panel("without the negative term (lines: gradient flow)", cut, flow),
    )


@partial(jax.jit, static_argnums=3)
def _paths(start, share, rate, steps):
    """Probabilities over gradient descent on the full and on the truncated loss; labels enter by their shares."""

    def path(loss):
        return jax.nn.sigmoid(optimisation.gradient_path(jax.grad(loss), start, rate, steps - 1))

    full = path(lambda z: learning.multi_label_loss(z, jnp.broadcast_to(share, z.shape)).sum())
    return full, path(lambda z: -(share * jax.nn.log_sigmoid(z)).sum())


def _flow(start, share, time):
    """σ(z(s)) where dz/ds = π σ(−z): then z + exp(z) rises by π s, and exp(z) is Wright's ω of that sum."""
    from scipy.special import wrightomega

    omega = wrightomega(start + np.exp(start) + np.multiply.outer(time, share))
    return omega / (1 + omega)


@claim(sources=("penn",))
def independent_sigmoids_not_a_distribution(
    key, training: Int(200, 1200) = 1200, ridge: Real(1e-4, 1e-1, log=True) = 1e-3
):
    r"""Independent sigmoids are not a distribution.

    Independent sigmoids do not sum to 1: the sum may be anything between 0 and m. On digits, thresholded sigmoids
    report no class or several for some images, where softmax with argmax reports exactly one.

    $$0 < \sum_k \sigma(z_k) < m, \qquad \sum_k \mathrm{softmax}_k(z) = 1$$

    Check: Ten sigmoids and one softmax, linear in the pixels, are fitted to `training` digits and tested on 597 others.
    """
    images, labels, test_images, test_labels = data.digits_split(train=1200)
    chosen = data.generator(key).permutation(1200)[:training]
    hot = learning.one_hot(labels[chosen], 10)
    separate = learning.fit_linear_scores(images[chosen], hot, link="sigmoid", ridge=ridge, iterations=200)
    joint = learning.fit_linear_scores(images[chosen], hot, ridge=ridge, iterations=200)
    p = np.asarray(jax.nn.sigmoid(separate.logits(test_images)))
    q = np.asarray(learning.softmax(joint.logits(test_images)))
    sums = p.sum(axis=1)
    yield close(q.sum(axis=1), 1.0, "sum of the softmax probabilities", atol=1e-12)
    yield at_least(sums, 0.0, "sum of ten sigmoids, against 0", strict=True)
    yield at_most(sums, 10.0, "sum of ten sigmoids, against 10", strict=True)
    ends = [jax.nn.sigmoid(c * jnp.ones(10)).sum() for c in (-30.0, 30.0)]
    yield close(ends, [0.0, 10.0], "sum of the sigmoids at logits −30 and 30: both ends are reached", atol=1e-9)
    yield at_least(np.abs(sums - 1).max(), 0.1, "largest distance of the sum from 1")
    count = (p > 0.5).sum(axis=1)
    none, one, several = (count == 0).sum(), (count == 1).sum(), (count > 1).sum()
    what = f"share of images without exactly one class above 1/2 ({none} none, {one} one, {several} several)"
    yield at_least((count != 1).mean(), 0.0, what, strict=True)
    yield exactly(len(learning.predicted_class(q)), len(test_labels), "images for which softmax names one class")
    apart, together = (learning.error_rate(test_labels, a.argmax(axis=1)) for a in (p, q))
    title = (
        f"Ten sigmoids on 597 digits: {none} images have no class above 1/2, {several} several; error by argmax "
        f"{apart:.3f}, softmax {together:.3f}"
    )
    yield figure.histogram(title, "Σ σ(z)", samples={"sigmoids": sums}, rules={"softmax: always 1": ("x", 1.0)})


@claim(sources=("penn",))
def multi_hot_softmax(
    key,
    classes: Int(6, 12) = 8,
    threshold: Real(0.15, 0.6) = 0.3,
    noise: Real(0.02, 0.12) = 0.08,
    samples: Int(400, 1500) = 800,
):
    r"""Softmax on multi-hot targets.

    Fitted to K present classes, a softmax gives each of them 1/K, not everything to one. So no fixed threshold works
    for every K, and an empty set costs nothing whatever is predicted; sigmoids have neither problem.

    $$\mathrm{argmin}_p -\sum_k t_k \log p_k = t / K, \qquad t = 0: \ \text{loss } 0 \text{ for every } p$$

    Check: Each input is the sum of the codes of the present classes plus Gaussian noise. K is uniform on 1, …, m − 2.
    """
    for m, present in ((4, 2), (classes, classes // 2)):
        t = np.append(np.ones(present), np.zeros(m - present))
        path = _softmax_path(jnp.asarray(t), jnp.asarray(data.generator(key).normal(size=m)))
        p = np.asarray(learning.softmax(path[-1]))
        equal = close(p, t / present, f"softmax at the end of descent, m = {m}, K = {present}", atol=1e-3)
        yield equal
        losses = learning.cross_entropy(path, np.broadcast_to(t, path.shape))
        least = present * np.log(present)
        yield at_least(losses, least, f"loss along descent against K log K, m = {m}, K = {present}", rtol=1e-12)
        if m == 4:
            wrong = at_least(p.max(), 0.99, "largest softmax probability with two classes present")
            prints = "softmax amplifies only the largest logit, so a single class is predicted"
            yield erratum(wrong, of=equal, by="penn", prints=prints)
    z, nothing = 3 * data.generator(key).normal(size=(20, classes)), np.zeros((20, classes))
    yield exactly(learning.cross_entropy(z, nothing), 0.0, "softmax loss of the empty set at any logits")
    yield at_least(learning.multi_label_loss(z, nothing), 0.0, "sigmoids' loss of the empty set", strict=True)
    rng = data.generator(jax.random.fold_in(key, 1))
    t = np.stack([rng.permutation(np.arange(classes) < k) for k in rng.integers(1, classes - 1, 2 * samples)]) * 1.0
    x = t + noise * rng.normal(size=t.shape)
    train, test = slice(0, samples), slice(samples, None)
    joint = learning.fit_linear_scores(x[train], t[train], ridge=1e-3, iterations=300)
    apart = learning.fit_linear_scores(x[train], t[train], link="sigmoid", ridge=1e-3, iterations=300)
    found = np.asarray(learning.softmax(joint.logits(x[test]))) > threshold, apart.logits(x[test]) > 0
    size, counts = t[test].sum(axis=1).astype(int), np.arange(1, classes - 1)
    f1 = np.empty((2, len(counts)))
    for i, k in enumerate(counts):
        rows = size == k
        f1[:, i] = [learning.precision_recall(t[test][rows].ravel(), f[rows].ravel()).f1 for f in found]
    room = np.floor(1 / threshold)  # more classes cannot all exceed the threshold
    bound = np.where(counts <= room, 1.0, 2 * room / (room + counts))
    what = f"F1 of the softmax above {threshold:.2g}, against what probabilities that sum to 1 allow"
    yield at_most(f1[0], bound, what, atol=1e-12)
    yield at_least(f1[1], 0.9, "F1 of the sigmoids above 1/2, for every K")
    values = {f"K = {k}": {str(j): (1 / k if j <= k else 0.0) for j in range(1, 5)} for k in (1, 2, 3)}
    bars = figure.bars("best softmax probabilities, m = 4", "class", "probability", values=values)
    points = {f"softmax > {threshold:.2g}": (counts, f1[0]), "sigmoids > 1/2": (counts, f1[1])}
    lines = {"bound for softmax": (counts, bound)}
    fresh = figure.curves("F1 on fresh label sets", "present classes K", "F1", lines=lines, points=points)
    falls = f"F1 above {threshold:.2g} falls to {f1[0, -1]:.2g} at K = {counts[-1]}, the sigmoids' is {f1[1, -1]:.2g}"
    yield figure.beside(f"With K classes present softmax gives each 1/K: its {falls}", bars, fresh)


@jax.jit
def _softmax_path(t, start):
    """Logits over gradient descent with step 1/K on −Σ t log softmax."""

    return optimisation.gradient_path(jax.grad(lambda z: learning.cross_entropy(z, t)), start, 1 / t.sum(), 4999)
