"""Nested classes of functions: exact minimisation cannot do worse in the larger one; training by descent can."""

import jax
import numpy as np
import optax

from leadline import data, learning, networks, training
from leadline.evidence import Int, Real, at_least, at_most, claim, close
from leadline.presentation import figure

WIDTHS = (1, 2, 3, 4, 6, 8)


@claim(sources=("penn",), shows=("learning.polynomials",))
def nested_classes_training_error(
    key, samples: Int(20, 200) = 40, noise: Real(0.0, 1.0) = 0.3, degrees: Int(3, 12) = 10
):
    r"""Larger classes fit the training data no worse.

    If each class contains the one before, the least training error cannot rise along the chain; a penalty on what is
    new in the larger class leads from one to the other. This is about minima: networks that are trained for a while
    may do worse when they are wider.

    $$F_1 \subset F_2 \subset \dots \;\Rightarrow\; \min_{f \in F_1} \hat R(f) \ge \min_{f \in F_2} \hat R(f)
    \ge \dots$$

    Assumes: exact minimisation.

    Check: Polynomials of growing degree on a noisy sine, by least squares; the penalty stands on the last two terms.
    Tanh networks of 1 to 8 units, 3 starts each, 100 epochs of stochastic gradient descent.
    """
    rng = data.generator(key)
    x = rng.uniform(size=(samples, 1))
    y = np.sin(2 * np.pi * x[:, 0]) + noise * rng.normal(size=samples)
    fresh = rng.uniform(size=(2000, 1))
    targets = np.sin(2 * np.pi * fresh[:, 0]) + noise * rng.normal(size=2000)
    train, test = [], []
    for degree in range(degrees + 1):
        members = learning.polynomials(degree)
        found = members.fit(x, y)
        train.append(np.mean((members.predict(found, x) - y) ** 2))
        test.append(np.mean((members.predict(found, fresh) - targets) ** 2))
    yield at_most(np.diff(train), 0.0, "change of the training error with the degree", atol=1e-10)
    path = _penalty_path(x, y, degrees)
    yield close(
        path[[0, -1]],
        [train[-3], train[-1]],
        "training error at both ends of the penalty path, against that of the two classes",
        rtol=1e-6,
        atol=1e-12,
    )
    yield at_most(np.diff(path), 0.0, "change of the training error as the penalty on the new terms falls", atol=1e-12)
    losses = _network_losses(x, y, key)  # (starts, widths)
    rises = np.diff(losses, axis=1)
    yield at_least(
        rises.max(), 0.0, "largest rise of the training error from one width to the next", strict=True
    ).as_empirical()
    k = np.arange(degrees + 1)
    chain = figure.curves(
        "least squares", "degree", "squared error", points={"training": (k, train), "new rows": (k, test)}, log="y"
    )
    runs = {f"start {s + 1}": (WIDTHS, losses[s]) for s in range(len(losses))}
    trained = figure.curves("networks by SGD, training error", "units", "squared error", points=runs, log="y")
    worse = f"{int((rises > 0).sum())} of {rises.size} wider networks fit worse"
    title = f"Training error falls to {train[-1]:.3g} along the chain (new rows: {test[-1]:.3g}); {worse}"
    yield figure.beside(title, chain, trained)


def _penalty_path(x, y, degree):
    """Training errors of the class of degree − 2 joined by two penalised terms, from a large penalty to none."""
    features = learning.polynomials(degree).features(x)
    errors = []
    for penalty in [1e12, *np.geomspace(1e4, 1e-8, 25), 0.0]:
        held = np.zeros((2, degree + 1))
        held[[0, 1], [degree - 1, degree]] = np.sqrt(penalty)
        fit = learning.least_squares(np.concatenate([features, held]), np.append(y, [0.0, 0.0]), intercept=False)
        errors.append(np.mean((features @ np.asarray(fit.weights) - y) ** 2))
    return np.array(errors)


def _network_losses(x, y, key):
    starts = 3
    nets = [
        networks.MLP((1, width, 1), "tanh", key=jax.random.fold_in(key, 100 * s + width))
        for s in range(starts)
        for width in WIDTHS
    ]
    rows = np.asarray(x, np.float32), np.asarray(y, np.float32)
    runs = training.fit_many(nets, rows, optimiser=optax.sgd(0.2), epochs=100, batch=10, loss="squared", key=key)
    losses = [np.mean((np.asarray(jax.vmap(run.model)(rows[0])).reshape(-1) - rows[1]) ** 2) for run in runs]
    return np.reshape(losses, (starts, len(WIDTHS)))
