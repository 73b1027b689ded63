"""One step of SGD as a step of a Markov chain: what it depends on, and where it goes on average."""

from itertools import product
from typing import Annotated

import numpy as np

from leadline import data, stochastic
from leadline.claims.stochastic.descent_runs import regression
from leadline.evidence import Choice, Range, at_least, claim, close, figure, slope


@claim(
    "sgd-markov-property",
    says=(
        "With independent sampling the next iterate given the present one does not depend on the past. It does with "
        "reshuffled epochs, and with momentum if only w is looked at; the state (w, used indices) or (w, velocity) "
        "restores the property."
    ),
    formula=r"I(w^{t+1};\, w^{t-1} \mid w^t) = 0",
    sources=("penn",),
    shows=("stochastic.conditional_information",),
)
def sgd_markov_property(
    key,
    samples: Annotated[int, Range(2, 7)] = 4,
    momentum: Annotated[float, Range(0.05, 0.95)] = 0.5,
    eta: Annotated[float, Range(0.1, 0.9)] = 0.3,
):
    """ℓᵢ = (w − aᵢ)²/2, w⁰ uniform on aⱼη/(1 − η), all paths of two steps: w¹ = η(aᵢ + aⱼ) does not tell i from j."""
    a = data.generator(key).standard_normal(samples)
    n = samples

    def paths(keep, rho):
        """(w, v) at three times of all (start, first, second index), with their probabilities."""
        start, first, second = np.array([t for t in product(range(n), repeat=3) if keep(t[1], t[2])]).T
        w0 = a[start] * eta / (1 - eta)
        v1 = -eta * (w0 - a[first])
        w1 = w0 + v1
        v2 = rho * v1 - eta * (w1 - a[second])
        states = np.stack([np.stack([w0, 0 * w0], 1), np.stack([w1, v1], 1), np.stack([w1 + v2, v2], 1)])
        return states, np.stack([start, first, second]), np.full(len(start), 1 / len(start))

    def information(states, chance):
        return stochastic.conditional_information(states[0], states[1], states[2], chance)

    free, _, chance = paths(lambda i, k: True, 0.0)
    shuffled, index, chance_shuffled = paths(lambda i, k: i != k, 0.0)
    heavy, _, chance_heavy = paths(lambda i, k: True, momentum)
    used = np.stack(
        [np.stack([s[:, 0], i.astype(float)], 1) for s, i in zip(shuffled, [0 * index[0], *index[1:]], strict=True)]
    )
    path = [a * eta / (1 - eta)]
    for _ in range(2):
        path.append(path[-1] - eta * (path[-1] - a.mean()))
    found = {
        "gradient descent": information(np.stack(path), np.full(n, 1 / n)),
        "SGD, with replacement": information(free[..., 0], chance),
        "SGD, shuffled": information(shuffled[..., 0], chance_shuffled),
        "shuffled, state (w, used)": information(used, chance_shuffled),
        "heavy ball, state w": information(heavy[..., 0], chance_heavy),
        "heavy ball, state (w, v)": information(heavy, chance_heavy),
    }
    for name in ("gradient descent", "SGD, with replacement", "shuffled, state (w, used)", "heavy ball, state (w, v)"):
        yield close(found[name], 0.0, f"I(w⁺; w⁻ | w): {name}", atol=1e-12)
    yield close(found["SGD, shuffled"], np.log(2) / n, "I, shuffled, against (log 2)/n", atol=1e-12)
    yield at_least(found["heavy ball, state w"], 1e-3, "I, heavy ball in w alone", strict=True)
    yield close(
        found["heavy ball, state w"], (n - 1) / n * np.log(2), "I, heavy ball, against (1 − 1/n) log 2", atol=1e-12
    ).given(abs(momentum - (1 - eta)) > 1e-6, "ρ ≠ 1 − η, so that no two futures coincide")
    larger = {"epochs": found["shuffled, state (w, used)"], "heavy": found["heavy ball, state (w, v)"]}
    alone = {"GD": found["gradient descent"], "SGD": found["SGD, with replacement"]}
    alone |= {"epochs": found["SGD, shuffled"], "heavy": found["heavy ball, state w"]}
    yield figure.bars(
        f"The past informs the future by {found['SGD, shuffled']:.3f} nats under shuffling and by "
        f"{found['heavy ball, state w']:.3f} under momentum; a larger state restores 0",
        x="gradient descent, SGD, shuffled epochs, heavy ball",
        y="I(w⁺; w⁻ | w) in nats",
        values={
            "state w": {name: max(value, 0.0) for name, value in alone.items()},
            "state (w, used indices) or (w, velocity)": {name: max(value, 0.0) for name, value in larger.items()},
        },
    )


@claim(
    "sgd-mean-step",
    says=(
        "Given w, the mean step is −η g(w). The mean path is the path of gradient descent only on quadratics; "
        "elsewhere E g(w) ≠ g(E w), by about ½ l''' times the variance."
    ),
    formula=r"E[w^{t+1} - w^t \mid w^t] = -\eta\, g(w^t), "
    r"\quad E\,g(w) - g(E\,w) \approx \tfrac{1}{2}\, l'''\, \mathrm{Var}\, w",
    sources=("penn",),
)
def sgd_mean_step(
    key,
    objective: Annotated[str, Choice("quadratic", "quartic")] = "quartic",
    eta: Annotated[float, Range(0.02, 0.3, log=True)] = 0.2,
    noise: Annotated[float, Range(0.1, 1.0)] = 0.8,
    batch: Annotated[int, Range(1, 3)] = 2,
):
    """All batches of a regression; then two examples l ± noise · w, all 2¹² paths from w = 1, exactly."""
    rng = data.generator(key)
    x, y = regression(rng, 6, 3)
    gradients = x * (x @ rng.standard_normal(3) - y)[:, None]
    drawn = gradients[np.array(list(product(range(6), repeat=batch)))].mean(1)
    size = np.abs(gradients).max()
    yield close(
        (-eta * drawn).mean(0), -eta * gradients.mean(0), f"mean step over all batches of {batch}", atol=1e-12 * size
    )

    curve = {"quadratic": lambda w: w, "quartic": lambda w: w**3}[objective]
    third = {"quadratic": lambda w: 0.0 * w, "quartic": lambda w: 6 * w}[objective]

    def enumerate_paths(step, length):
        """The law of w at each time: all 2^t values, equally likely."""
        laws = [np.array([1.0])]
        for _ in range(length):
            w = laws[-1]
            laws.append(np.concatenate([w - step * (curve(w) + s * noise) for s in (-1.0, 1.0)]))
        return laws

    laws, descent = enumerate_paths(eta, 12), [1.0]
    for _ in range(12):
        descent.append(descent[-1] - eta * curve(descent[-1]))
    means, descent = np.array([w.mean() for w in laws]), np.array(descent)
    if objective == "quadratic":
        yield close(means, descent, "mean of all paths, against gradient descent", atol=1e-12)
    else:
        step_error = means[1:] - (means[:-1] - eta * curve(means[:-1]))
        variance = np.array([w.var() for w in laws[:-1]])
        skew = np.array([np.mean((w - w.mean()) ** 3) for w in laws[:-1]])
        predicted = -eta * (third(means[:-1]) * variance / 2 + skew)
        yield close(step_error, predicted, "mean step minus step of the mean, against −η(½l'''Var + κ₃)", atol=1e-12)
        small = np.geomspace(1e-4, 1e-3, 4)
        apart = [abs(enumerate_paths(s, 2)[2].mean() - _twice(s, curve)) for s in small]
        yield slope(small, apart, 3.0, "mean path against gradient descent after 2 steps, in η", within=0.01)
        yield at_least(abs(means[-1] - descent[-1]), 1e-6, "distance of the mean path after 12 steps", strict=True)
    times = np.arange(13)
    yield figure.curves(
        f"{objective.capitalize()}: after 12 steps the mean path is at {means[-1]:.4g}, gradient descent at "
        f"{descent[-1]:.4g}",
        x="step",
        y="w",
        lines={"gradient descent": (times, descent)},
        points={"mean of all paths": (times, means)},
        bands={"± one standard deviation": (times, means - [w.std() for w in laws], means + [w.std() for w in laws])},
    )


def _twice(step, curve):
    w = 1.0 - step * curve(1.0)
    return w - step * curve(w)
