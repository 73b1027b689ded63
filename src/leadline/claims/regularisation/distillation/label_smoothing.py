"""Label smoothing as a regulariser: where its loss is least, and what it does to networks on noisy labels."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, learning, networks, regularisation, training
from leadline.claims.scenarios.regularisation.paired_findings import paired_excess
from leadline.evidence import Int, Real, at_least, close, method, reference
from leadline.presentation import figure

SEEDS, STEPS = 6, 600
EPSILONS = (0.0, 0.05, 0.1, 0.2, 0.35, 0.5)


@method(sources=("eth",), shows=("regularisation.soft_targets",))
def label_smoothing_as_regulariser(
    key, epsilon: Real(0.02, 0.5) = 0.1, noise: Real(0.2, 0.4) = 0.3, images: Int(400, 900) = 600
):
    r"""Label smoothing as a regulariser.

    The target, one for the label and 0 elsewhere, becomes a column of a stochastic matrix Π: the loss is least at that
    distribution, so that logits stay finite. On noisy labels networks have smaller logits the larger ε is. Uniform
    smoothing makes them timid: on clean test labels the calibration error grows with ε. The Π of the noise itself puts
    the mass where the mistakes are.

    $$\Pi = (1 - \varepsilon) I + \tfrac{\varepsilon}{C} 11^\top: \quad z_y - z_k = \ln\!\left(1 + \frac{C(1 -
    \varepsilon)}{\varepsilon}\right)$$

    Assumes: for the gap, logits that are free.

    Check: Networks 64-128-10 on digits; a share `noise` of the training labels is that of the next class, the test
    labels are clean. Six seeds, each with rows and noise of its own. That smoothing improves calibration is not
    confirmed here: with noisy labels the networks are underconfident without it already. The test error is shown and
    not judged: its fall is not clear at every seed.
    """
    rng = data.generator(key)
    columns = rng.dirichlet(np.ones(10), size=3)
    free = np.array([_least_logits(t) for t in columns])
    yield close(learning.softmax(free), columns, "softmax of the best free logits, against the column of Π", atol=1e-6)
    gaps = [_gap(e) for e in (epsilon, 0.1)]
    predicted = np.log1p(10 * (1 - epsilon) / epsilon)
    yield close(gaps[0], predicted, "logit gap of the numerical minimiser, against ln(1 + C(1 − ε)/ε)", atol=1e-5)
    yield reference(gaps[1], 4.511, "logit gap for C = 10, ε = 0.1", digits=4)
    scores = _on_noisy_digits(key, rng, noise, images)
    norms, calibration, errors = scores["norm"], scores["calibration"], scores["error"]
    shrunk = norms[:, :-2] - norms[:, 1:-1]
    yield at_least(
        shrunk, 0.0, "logit norm at one ε, less that at the next larger, all seeds", strict=True
    ).as_empirical()
    what = "calibration error at ε = 0.5 less that at ε = 0"
    yield paired_excess(calibration[:, -2], calibration[:, 0], what, level=0.99)
    what = "test log loss with uniform smoothing, ε = 0.35, less that with the Π of the noise"
    yield paired_excess(scores["log loss"][:, 4], scores["log loss"][:, -1], what, level=0.99)
    axis = np.linspace(0.02, 0.5, 60)
    left = figure.curves(
        "Gap of free logits",
        "ε",
        "logit gap",
        lines={"ln(1 + C(1 − ε)/ε)": (axis, np.log1p(10 * (1 - axis) / axis))},
        points={"numerical minimiser": (EPSILONS[1:], [_gap(e) for e in EPSILONS[1:]])},
    )
    points = {
        "uniform": _ranges(EPSILONS, calibration[:, :-1]),
        "Π of the noise": _ranges((noise,), calibration[:, -1:]),
    }
    middle = figure.curves("Calibration error, clean test labels", "ε", "calibration error", points=points)
    points = {"uniform": _ranges(EPSILONS, errors[:, :-1]), "Π of the noise": _ranges((noise,), errors[:, -1:])}
    right = figure.curves("Test error", "ε", "test error", points=points)
    m = np.median(errors, axis=0)
    title = (
        f"{noise:.0%} of the labels wrong: test error {m[0]:.3f} without smoothing, {m[3]:.3f} at ε = 0.2, "
        f"{m[-1]:.3f} with the Π of the noise"
    )
    yield figure.beside(title, left, middle, right)


def _ranges(at, values):
    """Median with lowest and highest over seeds."""
    return at, np.median(values, axis=0), values.min(axis=0), values.max(axis=0)


def _least_logits(target):
    """The free logits that minimise the cross-entropy with a target distribution, numerically."""
    from scipy.optimize import minimize

    both = jax.jit(jax.value_and_grad(learning.cross_entropy))
    found = minimize(lambda z: [np.asarray(v) for v in both(z, target)], np.zeros(len(target)), jac=True, tol=1e-11)
    return found.x


def _gap(epsilon):
    z = _least_logits(np.asarray(learning.smooth_labels(np.array(0), 10, epsilon, convention="all")))
    return float(z[0] - z[1:].mean())


def _on_noisy_digits(key, rng, noise, images):
    """Error, calibration error, log loss and logit norm on the test digits: (seeds, values of ε and the true Π)."""
    x, y, held, truth = data.digits_split()
    others = np.roll(np.eye(10), -1, axis=0)  # a label that is wrong is that of the class before it
    confusion = (1 - noise) * np.eye(10) + noise * others
    rows, targets = [], []
    for _ in range(SEEDS):
        chosen = rng.permutation(len(y))[:images]
        given = np.where(rng.random(images) < noise, (y[chosen] + 1) % 10, y[chosen])
        soft = [learning.smooth_labels(given, 10, e, convention="all") for e in EPSILONS]
        rows.append(x[chosen])
        targets.append(np.stack([*soft, regularisation.soft_targets(given, confusion)]))
    inputs = [jnp.asarray(a, jnp.float32) for a in (np.stack(rows), np.stack(targets), held)]
    logits = np.asarray(_trained(jax.random.split(key, SEEDS), *inputs), float)
    p, said = np.asarray(learning.softmax(logits)), logits.argmax(axis=-1)
    every = list(np.ndindex(logits.shape[:2]))
    table = {
        "error": [np.mean(said[i] != truth) for i in every],
        "calibration": [learning.calibration_error(p[i].max(axis=-1), said[i] == truth) for i in every],
        "log loss": [learning.log_loss(truth, p[i]) for i in every],
        "norm": [np.linalg.norm(logits[i] - logits[i].mean(axis=-1, keepdims=True), axis=-1).mean() for i in every],
    }
    return {name: np.array(values).reshape(logits.shape[:2]) for name, values in table.items()}


@eqx.filter_jit
def _trained(keys, rows, targets, held):
    """Logits on the held-out images of networks that were trained on each kind of targets."""

    def one(key, x, t):
        def losses(net, chosen, key, state):
            return learning.cross_entropy(jax.vmap(net)(x[chosen]), t[chosen]), state

        net = networks.MLP((64, 128, 10), dtype=jnp.float32, key=key)
        stream = data.batch_sequence(len(x), 50, STEPS, key=key)
        return jax.vmap(training.scan_steps(losses, net, optax.adam(2e-3), stream).model)(held)

    return jax.vmap(lambda key, x, kinds: jax.vmap(lambda t: one(key, x, t))(kinds))(keys, rows, targets)
