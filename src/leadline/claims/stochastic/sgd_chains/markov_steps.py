"""One step of SGD as a step of a Markov chain: what it depends on, and where it goes on average."""

from itertools import product

import numpy as np

from leadline import data
from leadline.claims.stochastic.gradient_oracles.descent_runs import regression
from leadline.evidence import Int, OneOf, Real, at_least, claim, close, slope
from leadline.presentation import figure
from leadline.stochastic.noise.path_information import conditional_information


@claim(sources=("penn",))
def sgd_markov_property(key, samples: Int(2, 7) = 4, momentum: Real(0.05, 0.95) = 0.5, eta: Real(0.1, 0.9) = 0.3):
    r"""When SGD is a Markov chain.

    With independent sampling the next iterate given the present one does not depend on the past. It does with
    reshuffled epochs, and with momentum if only w is looked at; the state (w, used indices) or (w, velocity) restores
    the property.

    $$I(w^{t+1};\, w^{t-1} \mid w^t) = 0$$

    Check: Enumerates all paths of two steps on ℓᵢ = (w − aᵢ)²/2, w⁰ uniform on aⱼη/(1 − η): w¹ = η(aᵢ + aⱼ) does not
    tell i from j.
    """
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
        return conditional_information(states[0], states[1], states[2], chance)

    free, _, chance = paths(lambda i, k: True, 0.0)
    shuffled, index, chance_shuffled = paths(lambda i, k: i != k, 0.0)
    heavy, _, chance_heavy = paths(lambda i, k: True, momentum)
    seen = zip(shuffled, [0 * index[0], *index[1:]], strict=True)
    used = np.stack([np.stack([s[:, 0], i.astype(float)], 1) for s, i in seen])
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
    what, past = "I(w⁺; w⁻ | w)", found["heavy ball, state w"]
    yield close(found["SGD, shuffled"], np.log(2) / n, f"{what}: shuffled, against (log 2)/n", atol=1e-12)
    yield at_least(past, 1e-3, f"{what}: heavy ball in w alone", strict=True)
    alone = close(past, (n - 1) / n * np.log(2), f"{what}: heavy ball in w, against (1 − 1/n) log 2", atol=1e-12)
    yield alone.given(abs(momentum - (1 - eta)) > 1e-6, "ρ ≠ 1 − η, so that no two futures coincide")
    shown = {name: max(value, 0.0) for name, value in found.items()}
    whole, free, epochs, used, heavy, both = shown.values()
    values = {
        "state w": {"GD": whole, "SGD": free, "epochs": epochs, "heavy": heavy},
        "state (w, used indices) or (w, velocity)": {"epochs": used, "heavy": both},
    }
    title = f"The past informs the future by {epochs:.3f} nats under shuffling, {heavy:.3f} under momentum"
    across = "gradient descent, SGD, shuffled epochs, heavy ball"
    yield figure.bars(title, across, "I(w⁺; w⁻ | w) in nats", values=values)


@claim(sources=("penn",))
def sgd_mean_step(
    key,
    objective: OneOf("quadratic", "quartic") = "quartic",
    eta: Real(0.02, 0.3, log=True) = 0.2,
    noise: Real(0.1, 1.0) = 0.8,
    batch: Int(1, 3) = 2,
):
    r"""Mean step of SGD.

    Given w, the mean step is −η g(w). The mean path is the path of gradient descent only on quadratics; elsewhere E
    g(w) ≠ g(E w), with a difference of about ½ l''' times the variance.

    $$E[w^{t+1} - w^t \mid w^t] = -\eta\, g(w^t), \quad E\,g(w) - g(E\,w) \approx \tfrac{1}{2}\, l'''\, \mathrm{Var}\,
    w$$

    Check: Enumerates all batches of a regression, then all 2¹² paths from w = 1 with two examples l ± `noise` · w.
    """
    rng = data.generator(key)
    x, y = regression(rng, 6, 3)
    gradients = x * (x @ rng.standard_normal(3) - y)[:, None]
    drawn = gradients[np.array(list(product(range(6), repeat=batch)))].mean(1)
    size, what = np.abs(gradients).max(), f"mean step over all batches of {batch}, against −ηg"
    yield close((-eta * drawn).mean(0), -eta * gradients.mean(0), what, atol=1e-12 * size)
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
        what = "distance of the mean path to gradient descent"
        yield slope(small, apart, 3.0, f"{what} after 2 steps, against η", within=0.01)
        yield at_least(abs(means[-1] - descent[-1]), 1e-6, f"{what} after 12 steps", strict=True)
    times, spread = np.arange(13), np.array([w.std() for w in laws])
    title = f"{objective.capitalize()}: the mean path ends at {means[-1]:.4g}, gradient descent at {descent[-1]:.4g}"
    lines = {"gradient descent": (times, descent)}
    bands = {"± one standard deviation": (times, means - spread, means + spread)}
    yield figure.curves(title, "step", "w", lines=lines, points={"mean of all paths": (times, means)}, bands=bands)


def _twice(step, curve):
    w = 1.0 - step * curve(1.0)
    return w - step * curve(w)
