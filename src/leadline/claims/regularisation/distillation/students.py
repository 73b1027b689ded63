"""Knowledge distillation: students of eight networks, and the gradient of their loss."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import scipy.special

from leadline import data, learning, networks, regularisation, training
from leadline.claims.scenarios.regularisation.digit_teachers import batch_scores, digit_teacher
from leadline.claims.scenarios.regularisation.paired_findings import paired_excess
from leadline.evidence import Int, Real, at_least, claim, close, erratum, method
from leadline.presentation import figure

SEEDS, STEPS, HIDDEN = 5, 800, 32
TEMPERATURES = (1.0, 2.0, 4.0, 8.0, 16.0)


@method(sources=("eth", "sheet"), shows=("regularisation.Distilled", "regularisation.DeepEnsemble"))
def knowledge_distillation(key, labelled: Int(60, 200) = 100, temperature: Real(1.5, 8.0) = 4.0):
    r"""Knowledge distillation.

    A small student learns the softened probabilities of a teacher: the cross-entropy of both at temperature T, times T²
    so that gradients keep their size. It needs inputs, no labels. A student of one small layer stays within one point
    of a teacher of eight networks; unlabelled inputs are worth more to it than the labels of a few.

    $$L = -T^2 \sum_y \operatorname{softmax}(F/T)_y \log \operatorname{softmax}(G/T)_y$$

    Assumes: F are the teacher's logits and G the student's.

    Check: The teacher is eight networks 64-128-10 on the training digits, as one; five students 64-32-10 see hard
    labels of `labelled` images, the teacher on these, or the teacher on all 1297 without labels. Test images: 500.
    """
    x, y, held, truth = (jnp.asarray(part) for part in data.digits_split())
    x, held = x.astype(jnp.float32), held.astype(jnp.float32)
    teacher = digit_teacher(key)
    logits, ahead = (batch_scores(teacher, part) for part in (x, held))
    keys = jax.random.split(key, SEEDS)
    arms = jnp.array([[t, 0.0] for t in TEMPERATURES] + [[temperature, 0.0], [1.0, 1.0]])
    everything = np.asarray(_students(keys, arms, x, logits, y, held), float)
    few = np.asarray(_students(keys, arms[-2:], x[:labelled], logits[:labelled], y[:labelled], held), float)
    right, agreed = np.asarray(truth), np.asarray(ahead).argmax(axis=-1)
    accuracy = (everything.argmax(axis=-1) == right).mean(axis=-1)  # (seeds, arms)
    agreement = (everything.argmax(axis=-1) == agreed).mean(axis=-1)
    own = float(np.mean(agreed == right))
    few = (few.argmax(axis=-1) == right).mean(axis=-1)
    near = np.full(SEEDS, own - 0.01)
    yield paired_excess(accuracy[:, -2], near, "accuracy of students, less that of the eight networks less one point")
    what = f"accuracy of students without labels, less that of those with hard labels of {labelled} images"
    yield paired_excess(accuracy[:, -2], few[:, 1], what, level=0.99)
    what = f"accuracy from {labelled} images: students of the teacher, less those with hard labels"
    yield paired_excess(few[:, 0], few[:, 1], what)
    axis = np.geomspace(1, 16, 25)
    entropies = np.array([np.asarray(learning.softmax_entropy(np.asarray(ahead, float), t)) for t in axis])
    yield at_least(
        np.diff(entropies, axis=0), 0.0, "entropy of the teacher at the next higher T, less this", atol=1e-12
    )
    rng = data.generator(key)
    F = np.asarray(ahead, float)[:50]
    moved = F + rng.normal(size=(20, *F.shape)) * rng.uniform(0.1, 3.0, size=(20, 1, 1))
    least = np.asarray(regularisation.distillation_loss(F, F, temperature))
    others = np.asarray(regularisation.distillation_loss(moved, np.broadcast_to(F, moved.shape), temperature))
    what = "loss of students with other logits, less that of the teacher's own"
    rests = at_least(others - least, 0.0, what, atol=1e-12)
    yield rests
    yield erratum(
        at_least(
            least - others,
            0.0,
            "loss without its minus sign: that of students with other logits, less that of the teacher's own",
            atol=1e-12,
        ),
        of=rests,
        by="eth",
        prints="both cross-entropies, plain and tempered, without the minus sign: as they stand they are maximised",
    )
    shown = accuracy[:, : len(TEMPERATURES)], agreement[:, : len(TEMPERATURES)]
    points = {
        name: (TEMPERATURES, v.mean(axis=0), v.min(axis=0), v.max(axis=0))
        for name, v in zip(("accuracy", "agreement with the teacher"), shown, strict=True)
    }
    rules = {"eight networks": ("y", own), f"hard labels, {labelled} images": ("y", float(few[:, 1].mean()))}
    left = figure.curves("Students without labels", "temperature T", "share", log="x", points=points, rules=rules)
    lines = {"teacher": (axis, entropies.mean(axis=1))}
    right = figure.curves("Entropy of the targets", "temperature T", "mean entropy (nats)", log="x", lines=lines)
    title = (
        f"Eight networks: {own:.3f}; students of them without labels {accuracy[:, -2].mean():.3f}, of {labelled} hard "
        f"labels {few[:, 1].mean():.3f}, of the teacher on these {few[:, 0].mean():.3f}"
    )
    yield figure.beside(title, left, right)


@eqx.filter_jit
def _students(keys, arms, x, logits, y, held):
    """Logits on held-out images of students for every (temperature, share of hard labels) and key."""
    rows = {"inputs": x, "teacher": logits, "labels": y}

    def one(key, arm):
        def objective(net, chosen, key, state):
            batch = jax.tree.map(lambda a: a[chosen], rows)
            soft, _ = regularisation.Distilled(arm[0])(net, batch, key, state)
            hard = learning.cross_entropy(jax.vmap(net)(batch["inputs"]), batch["labels"])
            return (1 - arm[1]) * soft.losses + arm[1] * hard, state

        net = networks.MLP((64, HIDDEN, 10), dtype=jnp.float32, key=key)
        stream = data.batch_sequence(len(x), 50, STEPS, key=key)
        return jax.vmap(training.scan_steps(objective, net, optax.adam(5e-3), stream).model)(held)

    return jax.vmap(lambda key: jax.vmap(lambda arm: one(key, arm))(arms))(keys)


@claim(sources=("eth", "sheet"), shows=("regularisation.distillation_loss",))
def distillation_gradient(
    key, classes: Int(2, 50) = 10, temperature: Real(0.5, 20.0, log=True) = 2.0, spread: Real(0.2, 5.0) = 2.0
):
    r"""The gradient of distillation.

    The gradient of the tempered cross-entropy is the difference of the tempered probabilities over T. For high
    temperatures and centred logits it tends to that of squared differences of logits, with a relative error of order
    1/T: distillation is then logit matching.

    $$\frac{\partial}{\partial G_y} H = \frac1T \left(\operatorname{softmax}(G/T)_y - \operatorname{softmax}(F/T)_y
    \right) \;\to\; \frac{G_y - F_y}{C T^2}$$

    Assumes: for the limit, logits that sum to 0.

    Check: The library's loss divided by T², differentiated by JAX and by differences. The factor of 1/T is that of the
    next order, ‖(G² − F²) centred‖/(2‖G − F‖), squares entry by entry; T is at least 100 times the spread of the
    logits, so that the order after it is below 2/100.
    """
    rng = data.generator(key)
    G, F = (spread * rng.normal(size=classes) for _ in range(2))
    G, F = G - G.mean(), F - F.mean()

    def loss(G, T):
        return regularisation.distillation_loss(G, F, T) / T**2

    slope = jax.jit(jax.grad(loss))
    formula = (scipy.special.softmax(G / temperature) - scipy.special.softmax(F / temperature)) / temperature
    yield close(slope(G, temperature), formula, "gradient by reverse mode, against the formula", atol=1e-12)
    step = 1e-5
    ends = [[float(loss(G + s * step * e, temperature)) for s in (1, -1)] for e in np.eye(classes)]
    differences = np.array([(a - b) / (2 * step) for a, b in ends])
    yield close(differences, formula, "gradient by central differences, against the formula", atol=1e-8)
    axis = np.geomspace(10, 1e4, 13) * spread
    limit = (G - F) / classes
    errors = np.array([np.linalg.norm(T**2 * np.asarray(slope(G, T)) - limit) / np.linalg.norm(limit) for T in axis])
    second, third = (f(G) - f(F) for f in (_second_order, _third_order))
    factor, after = (np.linalg.norm(term) / np.linalg.norm(G - F) for term in (second, third))
    high = axis > 100 * spread
    what = "T times the relative error of the limit at high T, against the factor of the next order"
    yield close((axis * errors)[high] / spread, factor / spread, what, atol=2e-2 * (after / spread**2 + 1))
    lines = {"next order": (axis, factor / axis)}
    title = f"At T = {axis[0]:.3g} the gradient is {errors[0]:.1%} from logit matching, and the error falls as 1/T"
    yield figure.curves(
        title, "temperature T", "relative error", log="xy", lines=lines, points={"measured": (axis, errors)}
    )


def _second_order(z):
    """What softmax(z/T) has of 1/(C T²): half of z² − mean z², for centred z."""
    return (z**2 - np.mean(z**2)) / 2


def _third_order(z):
    """What it has of 1/(C T³)."""
    return (z**3 - np.mean(z**3) - 3 * z * np.mean(z**2)) / 6
