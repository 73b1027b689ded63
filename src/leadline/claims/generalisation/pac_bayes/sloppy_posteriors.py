"""The price of a posterior by directions: stiff ones cost, sloppy ones keep the width of the prior."""

import numpy as np

from leadline import data, generalisation
from leadline.claims.scenarios.landscape.shallow_networks import ShallowClassifier, one_hot
from leadline.evidence import Int, at_most, claim, close
from leadline.landscape import sloppiness
from leadline.presentation import figure

DEVIATIONS = (0.05, 0.1, 0.2)  # of the prior, fixed in advance; the bound pays for the choice
STRENGTHS = (0.1, 0.4, 1.5)
SHARES = (0.1, 0.3, 0.6, 1.0)


@claim(sources=("penn",), empirical=True)
def sloppy_pac_bayes(key, hidden: Int(6, 16) = 8, num_steps: Int(50, 150) = 60, draws: Int(120, 400) = 150):
    r"""Fisher-aligned PAC-Bayes posterior.

    With a posterior aligned with the Fisher eigenbasis, sₖ² = 1/(1/a² + cλₖ), directions of small eigenvalue keep the
    prior's width and cost only their displacement: the price is governed by the number of stiff directions, and the
    bound is at most that of an isotropic posterior.

    $$\mathrm{KL} = \frac{1}{2} \sum_k \left[ \frac{s_k^2}{a^2} - 1 - \ln \frac{s_k^2}{a^2} + \frac{d_k^2}{a^2}
    \right]$$

    Assumes: the centre of the prior has not seen the rows of the bound; the examples are independent.

    Check: On the digits the centre of the prior is trained on 497 of them and the posterior on 800 others, which the
    bound counts. The Fisher information is taken on 50 of these 800, and 500 digits are kept for testing.
    """
    rng = data.generator(key)
    x, labels, test, test_labels = data.digits_split()
    order = rng.permutation(len(labels))
    first, rows = order[:497], order[497:]
    y, truth, n = one_hot(labels, 10), one_hot(test_labels, 10), len(rows)
    net = ShallowClassifier(64, hidden, 10)
    centre = net.train(net.draw(rng), x[first], y[first], num_steps)[-1]
    trained = net.train(centre, x[rows], y[rows], num_steps // 4)[-1]
    spectrum = net.spectrum(trained, x[rows[:50]])

    def errors(weights, inputs, targets):
        return 1 - net.accuracy(weights, inputs, targets)

    def bounded(candidates):
        """The candidate (KL, sampler) that is best on 3 draws; its bound and test error from fresh ones."""
        rough = []
        for kl, draw in candidates:
            seen = errors(draw(rng.normal(size=(3, net.size))), x[rows], y[rows])
            rough.append(generalisation.pac_bayes_bound(seen.mean(), kl, n).value)
        best = int(np.argmin(rough))
        kl, draw = candidates[best]
        weights = draw(rng.normal(size=(draws, net.size)))
        seen = errors(weights, x[rows], y[rows])
        bound = generalisation.sampled_pac_bayes_bound(seen, kl, n, choices=len(DEVIATIONS))
        return best, bound, errors(weights[:50], test, truth).mean()

    pairs = [(a, c * n) for a in DEVIATIONS for c in STRENGTHS]
    posteriors = [sloppiness.aligned_posterior(spectrum, trained, centre, a, c) for a, c in pairs]
    best, aligned, aligned_test = bounded([(q.kl(), q.sample) for q in posteriors])
    isotropics = []
    for a, s in ((a, a * r) for a in DEVIATIONS for r in SHARES):
        kl = float(generalisation.diagonal_gaussian_kl(trained, s, centre, a))
        isotropics.append((kl, lambda noise, s=s: trained + s * noise))
    _, isotropic, isotropic_test = bounded(isotropics)
    chosen, s2 = posteriors[best], posteriors[best].deviations ** 2
    slope = pairs[best][1] * spectrum.eigenvalues / 2 + (1 / chosen.prior_deviation**2 - 1 / s2) / 2
    yield close(slope, 0.0, "slope of (c/2)λs² + KL in s² at the chosen s", atol=1e-9 / s2.min())
    costs, rest = chosen.costs()
    yield close(costs.sum() + rest, chosen.kl(), "costs of the directions and of the rest, KL", rtol=1e-12)
    yield at_most(aligned, isotropic, "bound of the aligned posterior, against that of the isotropic one")
    yield at_most(aligned_test, aligned, "test error of the aligned posterior, its bound", trivial=0.9)
    yield at_most(isotropic_test, isotropic, "test error of the isotropic posterior, its bound", trivial=0.9)
    stiff = chosen.stiff_directions()
    yield at_most(stiff, net.size, "directions with s < 0.9 a, against the parameters", strict=True)
    k = 1 + np.arange(len(costs))
    kl = f"KL = {chosen.kl():.1f} nats, {rest:.1f} of them outside these directions"
    costs = {"lines": {"cumulative": (k, np.cumsum(costs))}, "points": {"cost of direction k": (k, costs)}}
    values = {"bound": {"isotropic": isotropic, "aligned": aligned}}
    values["test error"] = {"isotropic": isotropic_test, "aligned": aligned_test}
    yield figure.beside(
        f"{stiff} of {net.size} directions are stiff; error at most {aligned:.3f} (isotropic {isotropic:.3f}), tested "
        f"{aligned_test:.3f}",
        figure.curves(kl, "direction k", "nats", log="xy", **costs),
        figure.bars("Bound and test error", "posterior", "error", values=values),
    )
