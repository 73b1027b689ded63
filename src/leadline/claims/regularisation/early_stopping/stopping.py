"""Early stopping as a method: patience, the restored checkpoint, and its score that is too good."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, networks, regularisation, training
from leadline.evidence import Int, Real, close, exactly, mean, method
from leadline.presentation import figure
from leadline.training import Recorder


@method(sources=("eth", "sheet"), shows=("training.fit",))
def early_stopping(key, patience: Int(2, 12) = 5, corrupted: Real(0.1, 0.5) = 0.3):
    r"""Early stopping.

    The validation loss is looked at after every epoch; training stops after `patience` of them without a better one,
    and the best parameters are restored. The score at that point is the least of several, so that it is too good:
    report that of a third set.

    $$T = \min\{t : v_s \ge \min_{u \le t - p} v_u \;\; \forall\, t - p < s \le t\}, \qquad \mathbb{E}\,
    v_{\hat t} \le \mathbb{E}\, R(\theta_{\hat t}), \; \hat t = \operatorname{argmin}_t v_t$$

    Assumes: validation rows are independent of the training rows.

    Check: A network 64-128-10 on 200 digits of which a share `corrupted` has random labels. `fit` with patience is
    compared with the rule on the curve of a run without; the bias of the score is that over 400 validation sets of 40
    rows against the other rows.
    """
    rng = data.generator(key)
    x, y = data.digits()
    order = rng.permutation(len(y))
    x, y = x[order].astype(np.float32), y[order].astype(np.int32)
    noisy = np.where(rng.random(len(y)) < corrupted, rng.integers(0, 10, len(y)), y).astype(np.int32)
    train, held = (x[:200], noisy[:200]), (x[200:300], noisy[200:300])
    pool = jnp.asarray(x[300:1100]), jnp.asarray(noisy[300:1100])

    def pool_losses(seen):
        logits = jax.vmap(seen.after.parameters)(pool[0])
        return optax.softmax_cross_entropy_with_integer_labels(logits, pool[1])

    network = networks.MLP((64, 128, 10), dtype=jnp.float32, key=key)
    options = {"optimiser": optax.adam(3e-3), "epochs": 40, "batch": 50, "validation": held, "key": key}
    whole = training.fit(network, train, recorder=Recorder(pool_losses, every=4), **options)
    curve = whole.history["validation_loss"]
    predicted = regularisation.stopping_point(curve, patience)
    stopped = training.fit(network, train, patience=patience, **options)
    yield exactly(
        stopped.epochs, predicted.stop + 1, "epochs that fit runs with patience, against the rule on the curve"
    )
    logits = jax.vmap(stopped.best)(jnp.asarray(held[0]))
    score = float(jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, jnp.asarray(held[1]))))
    what = "validation loss of the restored network, against the least of the curve so far"
    yield close(score, curve[: predicted.stop + 1].min(), what, rtol=1e-5)
    curves = np.cumsum(rng.normal(0.02, 0.3, size=(200, 60)), axis=1)
    found = [regularisation.stopping_point(values, patience) for values in curves]
    brute = [_by_definition(values, patience) for values in curves]
    yield exactly([(p.stop, p.best) for p in found], brute, "200 random curves: stop and best, against the definition")
    bowl = (np.arange(60) - 20.0) ** 2
    found = regularisation.stopping_point(bowl, patience)
    yield exactly((found.stop, found.best), (20 + patience, 20), "a curve with one minimum, at 20: stop and best")
    again = np.where(np.arange(60) < 40, bowl, -np.arange(60.0))
    yield exactly(regularisation.stopping_point(again, patience).later, 40, "a second descent at 40: it is pointed out")
    losses = np.asarray(whole.recorded, float)  # (epochs, rows of the pool)
    optimism = []
    for _ in range(400):
        chosen = rng.permutation(losses.shape[1])
        few, rest = losses[:, chosen[:40]].mean(axis=1), losses[:, chosen[40:]].mean(axis=1)
        best = int(few.argmin())
        optimism.append(few[best] - rest[best])
    what = "validation loss at its minimum, less that of other rows: not above 0"
    yield mean(optimism, 0.0, what, side="at most")
    epochs = 1 + np.arange(len(curve))
    points = {"training": (epochs, whole.history["loss"]), "validation": (epochs, curve)}
    rules = {"stop": ("x", float(predicted.stop + 1)), "best": ("x", float(predicted.best + 1))}
    title = (
        f"Stopped after {predicted.stop + 1} epochs, restored the {predicted.best + 1}th; the least 40-row score is "
        f"{-np.mean(optimism):.2f} too low"
    )
    yield figure.curves(title, "epoch", "cross-entropy", points=points, rules=rules)


def _by_definition(values, patience):
    """Stop and best from the running minimum: where its first place has not moved for `patience` epochs."""
    best = np.array([int(np.argmin(values[: t + 1])) for t in range(len(values))])
    waited = np.arange(len(values)) - best >= patience
    stop = int(np.argmax(waited)) if waited.any() else len(values) - 1
    return stop, int(best[stop])
