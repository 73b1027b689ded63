"""Certificates of generalisation from sloppiness: a PAC-Bayes bound whose price is the number of stiff directions."""

import numpy as np

from leadline import data, generalisation
from leadline.claims.scenarios.landscape.shallow_networks import ShallowClassifier, one_hot
from leadline.evidence import Int, at_least, at_most, claim, close
from leadline.landscape import sloppiness
from leadline.landscape.sloppiness.aligned_posteriors import parameter_count_bound
from leadline.presentation import figure

DEVIATIONS = (0.1, 0.2, 0.4, 0.8)  # priors N(w₀, a²I), chosen before the data are seen; the bound pays for the choice
STRENGTHS = (0.1, 0.3, 1.0, 3.0, 10.0)
SHARES = (0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)


@claim(sources=("penn",), empirical=True)
def sloppy_certificates(
    key, hidden: Int(6, 24) = 8, num_steps: Int(50, 200) = 100, images: Int(40, 120) = 80, draws: Int(100, 400) = 200
):
    r"""Sloppy directions tighten certificates.

    Counting only stiff directions certifies a network that counting parameters cannot: with a posterior aligned with
    the Fisher eigenbasis, sloppy directions keep the width of the prior and cost only their displacement. The bound is
    below that of an isotropic posterior and is informative, where the parameter count says nothing.

    $$\mathrm{KL} = \frac{1}{2} \sum_k \left[ \frac{s_k^2}{a^2} - 1 - \ln \frac{s_k^2}{a^2} + \frac{d_k^2}{a^2}
    \right]$$

    Assumes: the prior N(w₀, a²I) is drawn without the training data; the examples are independent.

    Check: 1297 digits train and 500 test; the Fisher information is taken on `images` of the former.
    """
    rng = data.generator(key)
    x, labels, test, test_labels = data.digits_split()
    y, test_y, n = one_hot(labels, 10), one_hot(test_labels, 10), len(labels)
    net = ShallowClassifier(64, hidden, 10)
    w0 = net.draw(rng)
    w = net.train(w0, x, y, num_steps)[-1]
    spectrum = net.spectrum(w, x[:images])

    def errors(weights, inputs, truth):
        return 1 - net.accuracy(weights, inputs, truth)

    def certified(candidates):
        """The candidate (kl, sampler) with the best bound from 5 draws; its bound and test error from fresh draws."""
        rough = []
        for kl, sample in candidates:
            few = errors(sample(rng.normal(size=(5, net.size))), x, y)
            rough.append(generalisation.sampled_pac_bayes_bound(np.repeat(few, 40), kl, n))
        best = int(np.argmin(rough))
        kl, sample = candidates[best]
        weights = sample(rng.normal(size=(draws, net.size)))
        bound = generalisation.sampled_pac_bayes_bound(errors(weights, x, y), kl, n, choices=len(DEVIATIONS))
        return best, bound, errors(weights[:100], test, test_y).mean()

    posteriors = [sloppiness.aligned_posterior(spectrum, w, w0, a, c * n) for a in DEVIATIONS for c in STRENGTHS]
    best, aligned, aligned_test = certified([(q.kl(), q.sample) for q in posteriors])
    chosen = posteriors[best]
    isotropics = []
    for a, s in ((a, a * share) for a in DEVIATIONS for share in SHARES):
        kl = float(generalisation.diagonal_gaussian_kl(w, s, w0, a))
        isotropics.append((kl, lambda noise, s=s: w + s * noise))
    _, isotropic, isotropic_test = certified(isotropics)
    counted = parameter_count_bound(1 - net.accuracy(w, x, y), net.size, n)
    covariance = np.eye(net.size) * chosen.prior_deviation**2
    covariance += (chosen.vectors.T * (chosen.deviations**2 - chosen.prior_deviation**2)) @ chosen.vectors
    a2, moved = chosen.prior_deviation**2, w - w0
    dense = 0.5 * (np.trace(covariance) / a2 - net.size - np.linalg.slogdet(covariance / a2)[1] + moved @ moved / a2)
    yield close(chosen.kl(), dense, "KL by eigen-directions, against traces and determinants", rtol=1e-8)
    yield at_most(aligned, isotropic, "bound of the aligned posterior, against that of the isotropic one")
    yield at_most(aligned, 0.9, "bound of the aligned posterior, against the error of guessing", strict=True)
    yield at_least(counted, 1.0, "bound by the parameter count, against 1: nothing is said")
    yield at_most(aligned_test, aligned, "test error of the aligned posterior, against its bound (confidence 95%)")
    yield at_most(isotropic_test, isotropic, "test error of the isotropic posterior, against its bound (95%)")
    stiff = chosen.stiff_directions()
    yield at_most(stiff, net.size, "directions with s < 0.9 a, against the parameter count", strict=True)
    costs, rest = chosen.costs()
    k, tested = 1 + np.arange(len(costs)), 1 - net.accuracy(w, test, test_y)
    values = {"bound": {"count": counted, "isotropic": isotropic, "aligned": aligned}}
    values["test error"] = {"count": tested, "isotropic": isotropic_test, "aligned": aligned_test}
    bounds = figure.bars("By parameter count, isotropic, aligned", "certificate", "error", values=values)
    title = f"KL = {chosen.kl():.0f} nats; {rest:.0f} of them outside the {len(k)} directions seen"
    lines, points = {"cumulative": (k, np.cumsum(costs))}, {"cost of direction k": (k, costs)}
    nats = figure.curves(title, "direction k", "nats", lines=lines, points=points, log="xy")
    title = f"{stiff} stiff of {net.size} directions certify an error of {aligned:.2f}; tested: {aligned_test:.2f}"
    yield figure.beside(title, bounds, nats)
