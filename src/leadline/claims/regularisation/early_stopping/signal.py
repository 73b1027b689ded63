"""Signal before noise: clean labels are fitted before corrupted ones."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, networks, optimisation, regularisation
from leadline.evidence import Int, Real, at_least, claim, close
from leadline.presentation import figure

SEEDS = 5


@claim(sources=("eth",), shows=("regularisation.DescentFilter",), empirical=True)
def signal_before_noise(key, corrupted: Real(0.2, 0.4) = 0.3, images: Int(300, 800) = 400, epochs: Int(40, 120) = 60):
    r"""Signal is learned before noise.

    With some labels corrupted, a network fits the clean rows first and memorises the corrupted ones later. In a linear
    model this is exact: mode i approaches its value at the rate ηλᵢ, so that directions of large variance, which carry
    the signal, come first.

    $$\max_t\, [\mathrm{acc}_{\mathrm{clean}}(t) - \mathrm{acc}_{\mathrm{corrupted}}(t)] > 0.3, \qquad
    \theta_t^{(i)} = [1 - (1 - \eta\lambda_i)^t]\, \theta^{*(i)}$$

    Assumes: the network can fit all labels in the end.

    Check: Five networks 64-256-10 on digits of which a share `corrupted` has another label than its own; Adam at 0.001
    in batches of 50. Confirmed where the lead exceeds 0.3 in at least four of them.
    """
    rng = data.generator(key)
    x, y = data.digits()
    runs = []
    for seed in range(SEEDS):
        own = jax.random.fold_in(key, seed)
        rows = rng.permutation(len(y))[:images]
        mask = rng.permutation(images) < round(corrupted * images)
        labels = np.where(mask, (y[rows] + rng.integers(1, 10, images)) % 10, y[rows]).astype(np.int32)
        network = networks.MLP((64, 256, 10), dtype=jnp.float32, key=own)
        inputs = ((x[rows] - 0.3) / 0.4).astype(np.float32)
        options = {"epochs": epochs, "batch": 50, "optimiser": optax.adam(1e-3), "key": own}
        runs.append(
            regularisation.fitting_order(
                batched, network, inputs, labels, mask, true_labels=y[rows].astype(np.int32), **options
            )
        )
    leads = np.array([run.lead for run in runs])
    count = int(np.sum(leads > 0.3))
    yield at_least(count, SEEDS - 1, f"networks of {SEEDS} whose clean rows lead by more than 0.3").as_empirical()
    ends = np.array([run.corrupted[-1] for run in runs])
    starts = np.array([run.corrupted[run.lead_at - 1] for run in runs])
    what = "accuracy on corrupted rows: at the end, less where the lead is largest"
    yield at_least(ends - starts, 0.0, what).as_empirical()
    covariance, moment = x.T @ x / len(y), x.T @ (y >= 5) / len(y)
    values, vectors = np.linalg.eigh(covariance)
    eta, times = 1 / values[-1], np.array([1, 10, 100])
    path = optimisation.gradient_path(lambda w: covariance @ w - moment, np.zeros(64), eta, 100)
    seen = values > 1e-6 * values[-1]
    shares = (path[times] @ vectors)[:, seen] * values[seen] / (vectors.T @ moment)[seen]
    law = np.array([regularisation.DescentFilter(eta, int(t))(values[seen]) for t in times])
    size = np.abs(values[-1] / (vectors.T @ moment)[seen])
    yield close((shares - law) / size, 0.0, "linear: share of each mode, against 1 − (1 − ηλ)ᵗ, relative", atol=1e-10)
    t = 1 + np.arange(epochs)
    shown = runs[0]
    title = f"Clean labels lead by {np.median(leads):.2f} (median of {SEEDS}) before corrupted ones are memorised"
    points = {"clean rows": (t, shown.clean), "corrupted rows, their labels": (t, shown.corrupted)}
    points["corrupted rows, true labels"] = (t, shown.true)
    yield figure.curves(title, "epoch", "training accuracy", points=points)


def batched(network, inputs):
    """The scores of a batch."""
    return jax.vmap(network)(inputs)
