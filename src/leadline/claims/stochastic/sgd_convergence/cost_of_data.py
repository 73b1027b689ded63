"""What more data cost: SGD to a fixed error, and conjugate gradients to an error that falls with the data."""

import numpy as np
from scipy.special import expit, softmax

from leadline import data
from leadline.evidence import Int, Real, at_least, at_most, claim, close, mean
from leadline.presentation import figure


def _two_classes(rng, samples):
    """Gaussian classes in 20 dimensions of scales 1 to 0.1, with Bayes error 1.1%."""
    y = rng.choice(np.array([-1.0, 1.0]), samples)
    x = (rng.normal(size=(samples, 20)) + y[:, None] * 2.3 / np.sqrt(20)) * np.geomspace(1, 0.1, 20)
    return x * y[:, None]


def _gradients_to_learn(rng, z, tolerance):
    """Gradients of single examples until the training error is `tolerance`: gradient descent, and SGD with b = 8."""
    n = len(z)
    step = 4 / np.linalg.eigvalsh(z.T @ z / n)[-1]
    w, full = np.zeros(20), 0
    while np.mean(z @ w <= 0) > tolerance and full < 2000:
        w = w + step * z.T @ expit(-z @ w) / n
        full += 1
    w, single = np.zeros(20), 0
    while np.mean(z @ w <= 0) > tolerance and single < 40_000:
        for rows in rng.integers(n, size=(10, 8)):
            w = w + 0.5 * z[rows].T @ expit(-z[rows] @ w) / 8
        single += 80
    return n * full, single


def _digit_gradients(rng, x, right, tolerance):
    """As `_gradients_to_learn`, for softmax regression on images x with one-hot labels; only SGD, b = 8, step 0.1."""
    w, labels, spent = np.zeros((x.shape[1], 10)), right.argmax(axis=1), 0
    while np.mean((x @ w).argmax(axis=1) != labels) > tolerance and spent < 40_000:
        for rows in rng.integers(len(x), size=(10, 8)):
            w = w - 0.1 * x[rows].T @ (softmax(x[rows] @ w, axis=1) - right[rows]) / 8
        spent += 80
    return spent


def _rays(rng, count, side):
    """Lengths of random lines in the pixels of a square picture, from 200 points on each line."""
    ends = rng.uniform(0, 1, (count, 2, 2))
    ends[:, 0, 0], ends[:, 1, 0] = 0.0, 1.0  # from the left edge to the right one
    flip = rng.random(count) < 0.5
    ends[flip] = ends[flip][:, :, ::-1]
    points = ends[:, :1] + np.linspace(0, 1, 200)[None, :, None] * (ends[:, 1:] - ends[:, :1])
    cells = np.minimum((points * side).astype(int), side - 1) @ np.array([1, side])
    return np.stack([np.bincount(c, minlength=side**2) for c in cells]) * side / 200


@claim(sources=("penn",), empirical=True)
def sgd_cost_independent_of_n(key, tolerance: Real(0.02, 0.03) = 0.02, repeats: Int(5, 9) = 5):
    r"""SGD's cost does not grow with n.

    If the tolerated error does not depend on n, the cost of SGD is flat in n and that of gradient descent grows
    linearly. If the accuracy must rise with the data, as in tomography, the order is reversed: conjugate gradients
    win.

    $$\mathrm{cost}_{\mathrm{SGD}}(n) = O(1), \qquad \mathrm{cost}_{GD}(n) = O(n)$$

    Assumes: n is large enough for the training error to be that of the population.

    Check: Logistic regression on two Gaussian classes and on digits to a fixed error; tomography of 36 pixels to 1/n.
    """
    rng = data.generator(key)
    sizes = np.array([3000, 9000, 27_000])
    found = [[_gradients_to_learn(rng, _two_classes(rng, n), tolerance) for _ in range(repeats)] for n in sizes]
    costs = np.median(found, axis=1)  # (sizes, method)
    yield at_most(costs[:, 1].max() / costs[:, 1].min(), 3.0, "SGD: largest over smallest cost across n, at most 3")
    grows = np.polyfit(np.log(sizes), np.log(costs[:, 0]), 1)[0]
    yield close(grows, 1.0, "gradient descent: slope of the cost in n", atol=0.2)
    yield at_least(costs[-1, 0] / costs[-1, 1], 10.0, "largest n: cost of gradient descent over that of SGD")
    images, labels = (np.asarray(a) for a in data.digits())
    images, right = np.concatenate([images, np.ones((len(images), 1))], axis=1), np.eye(10)[labels]
    subsets = [[rng.permutation(len(images))[:n] for _ in range(3)] for n in (450, 900, 1797)]
    spent = [np.median([_digit_gradients(rng, images[s], right[s], 0.1) for s in group]) for group in subsets]
    yield at_most(
        max(spent) / min(spent), 3.0, "digits to 10% error: largest over smallest cost of SGD, n = 450 … 1797"
    )
    from scipy.sparse.linalg import cg

    rays, errors = np.array([100, 200, 400]), []
    for n in rays:
        a = _rays(rng, n, 6)
        b = a @ rng.uniform(0, 1, 36) + 0.1 * rng.normal(size=n)
        ridge = 0.02 * np.trace(a.T @ a) / n / 36
        matrix, target = a.T @ a / n + ridge * np.eye(36), a.T @ b / n
        best = np.linalg.solve(matrix, target)
        distances = []
        cg(matrix, target, rtol=1e-12, callback=lambda w, u=best, d=distances: d.append(np.linalg.norm(w - u)))
        relative = np.array(distances) / np.linalg.norm(best)
        budget = int(n * (np.argmax(relative <= 1 / n) + 1))
        strong = np.linalg.eigvalsh(matrix)[0]
        shift = 2 * (np.max(np.sum(a**2, axis=1)) + ridge) / strong
        w = np.zeros((10, 36))
        for t, rows in enumerate(rng.integers(n, size=(budget, 10)), start=1):
            picked = a[rows]
            step = 2 / (strong * (t + shift))
            w = w - step * (picked * (np.sum(picked * w, axis=1) - b[rows])[:, None] + ridge * w)
        errors.append(np.linalg.norm(w - best, axis=1) / np.linalg.norm(best))
    what = "tomography: n times the error of SGD after what conjugate gradients needed"
    yield mean(errors[-1] * rays[-1], 1.0, what, side="at least")
    title, y = f"Two classes, to {tolerance:.1%} training error", "gradients of single examples"
    lines = {"proportional to n": (sizes, costs[0, 0] * sizes / sizes[0])}
    points = {"gradient descent": (sizes, costs[:, 0]), "SGD": (sizes, costs[:, 1])}
    classes = figure.curves(title, "examples n", y, lines=lines, points=points, log="xy")
    title = "Tomography: error after equal cost"
    lines = {"1/n, reached by conjugate gradients": (rays, 1 / rays)}
    points = {"SGD, mean of 10 runs": (rays, [e.mean() for e in errors])}
    pictures = figure.curves(title, "rays n", "relative error", lines=lines, points=points, log="xy")
    title = f"To a fixed error SGD needs {costs[-1, 1]:.3g} gradients at n = 27000, gradient descent {costs[-1, 0]:.2g}"
    yield figure.beside(title, classes, pictures)
