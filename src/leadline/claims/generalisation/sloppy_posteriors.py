"""The price of a posterior by directions: stiff ones cost, sloppy ones keep the width of the prior."""

from typing import Annotated

import numpy as np

from leadline import data, generalisation, sloppiness
from leadline.claims.landscape.shallow_networks import ShallowClassifier, one_hot
from leadline.evidence import Range, at_most, claim, close, figure

DEVIATIONS = (0.05, 0.1, 0.2)  # of the prior, fixed in advance; the bound pays for the choice
STRENGTHS = (0.1, 0.4, 1.5)
SHARES = (0.1, 0.3, 0.6, 1.0)


@claim(
    "sloppy-pac-bayes",
    says=(
        "With a posterior aligned with the Fisher eigenbasis, sₖ² = 1/(1/a² + cλₖ), directions of small eigenvalue "
        "keep the prior's width and cost only their displacement: the price is governed by the number of stiff "
        "directions, and the bound is at most that of an isotropic posterior."
    ),
    formula=r"KL = \frac{1}{2} \sum_k \left[ \frac{s_k^2}{a^2} - 1 - \ln \frac{s_k^2}{a^2} + \frac{d_k^2}{a^2} \right]",
    sources=("penn",),
    assumes=("the centre of the prior has not seen the rows of the bound", "the examples are independent"),
    shows=("sloppiness.aligned_posterior", "generalisation.sampled_pac_bayes_bound"),
    empirical=True,
)
def sloppy_pac_bayes(
    key,
    hidden: Annotated[int, Range(6, 16)] = 8,
    steps: Annotated[int, Range(50, 150)] = 60,
    draws: Annotated[int, Range(120, 400)] = 150,
):
    """Digits: the centre of the prior is trained on 497 of them, the posterior on 800 others, which the bound counts;
    the Fisher information on 50 of these, 500 for testing."""
    rng = data.generator(key)
    x, labels, test, test_labels = data.digits_split()
    order = rng.permutation(len(labels))
    first, rows = order[:497], order[497:]
    y, truth, n = one_hot(labels, 10), one_hot(test_labels, 10), len(rows)
    net = ShallowClassifier(64, hidden, 10)
    centre, _ = net.train(net.draw(rng), x[first], y[first], steps)
    trained, _ = net.train(centre, x[rows], y[rows], steps // 4)
    spectrum = net.spectrum(trained, x[rows[:50]])

    def errors(weights, inputs, targets):
        return np.array([1 - net.accuracy(w, inputs, targets) for w in weights])

    def bounded(candidates):
        """The candidate (KL, sampler) that is best on 3 draws; its bound and test error from fresh ones."""
        rough = [
            generalisation.pac_bayes_bound(errors(draw(rng.normal(size=(3, net.size))), x[rows], y[rows]).mean(), kl, n)
            for kl, draw in candidates
        ]
        best = int(np.argmin([bound.value for bound in rough]))
        kl, draw = candidates[best]
        weights = draw(rng.normal(size=(draws, net.size)))
        bound = generalisation.sampled_pac_bayes_bound(
            errors(weights, x[rows], y[rows]), kl, n, choices=len(DEVIATIONS)
        )
        return best, bound, float(errors(weights[:50], test, truth).mean())

    posteriors = [
        sloppiness.aligned_posterior(spectrum, trained, centre, a, c * n) for a in DEVIATIONS for c in STRENGTHS
    ]
    best, aligned, aligned_test = bounded([(q.kl(), q.sample) for q in posteriors])
    isotropics = [
        (
            float(generalisation.diagonal_gaussian_kl(trained, a * r, centre, a)),
            lambda noise, s=a * r: trained + s * noise,
        )
        for a in DEVIATIONS
        for r in SHARES
    ]
    _, isotropic, isotropic_test = bounded(isotropics)
    chosen, strength = posteriors[best], STRENGTHS[best % len(STRENGTHS)] * n
    a2 = chosen.prior_deviation**2
    price = strength * spectrum.eigenvalues / 2
    s2 = chosen.deviations**2
    yield close(
        price + (1 / a2 - 1 / s2) / 2, 0.0, "slope of (c/2)λs² + KL in s² at the chosen s", atol=1e-9 / s2.min()
    )
    costs, rest = chosen.costs()
    yield close(costs.sum() + rest, chosen.kl(), "costs of the directions and of the rest, KL", rtol=1e-12)
    yield at_most(aligned, isotropic, "bound, aligned posterior and isotropic one")
    yield at_most(aligned_test, aligned, "test error of the aligned posterior, its bound", trivial=0.9)
    yield at_most(isotropic_test, isotropic, "test error of the isotropic posterior, its bound", trivial=0.9)
    stiff = chosen.stiff_directions()
    yield at_most(stiff, net.size, "directions with s < 0.9 a, parameters", strict=True)
    k = 1 + np.arange(len(costs))
    yield figure.beside(
        f"{stiff} of {net.size} directions are stiff; error at most {aligned:.3f} (isotropic {isotropic:.3f}), tested "
        f"{aligned_test:.3f}",
        figure.curves(
            f"KL = {chosen.kl():.1f} nats, {rest:.1f} of them outside these directions", x="direction k", y="nats",
            lines={"cumulative": (k, np.cumsum(costs))}, points={"cost of direction k": (k, np.maximum(costs, 1e-12))},
            log="xy",
        ),
        figure.bars(
            "Bound and test error", x="posterior", y="error",
            values={
                "bound": {"isotropic": isotropic, "aligned": aligned},
                "test error": {"isotropic": isotropic_test, "aligned": aligned_test},
            },
        ),
    )  # fmt: skip
