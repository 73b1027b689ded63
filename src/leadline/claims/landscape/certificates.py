"""Certificates of generalisation from sloppiness: a PAC-Bayes bound whose price is the number of stiff directions."""

from typing import Annotated

import numpy as np

from leadline import data, generalisation, sloppiness
from leadline.claims.landscape.shallow_networks import ShallowClassifier, one_hot
from leadline.evidence import Range, at_least, at_most, claim, close, figure

DEVIATIONS = (0.1, 0.2, 0.4, 0.8)  # priors N(w₀, a²I), chosen before the data are seen; the bound pays for the choice
STRENGTHS = (0.1, 0.3, 1.0, 3.0, 10.0)
SHARES = (0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)


@claim(
    "sloppy-certificates",
    says=(
        "Counting only stiff directions certifies a network that counting parameters cannot: with a posterior aligned "
        "with the Fisher eigenbasis, sloppy directions keep the width of the prior and cost only their displacement. "
        "The bound is below that of an isotropic posterior and says something, where the parameter count says nothing."
    ),
    formula=r"KL = \frac{1}{2} \sum_k \left[ \frac{s_k^2}{a^2} - 1 - \ln \frac{s_k^2}{a^2} + \frac{d_k^2}{a^2} \right]",
    sources=("penn",),
    assumes=("the prior N(w₀, a²I) is drawn without the training data", "the examples are independent"),
    shows=(
        "sloppiness.aligned_posterior",
        "generalisation.sampled_pac_bayes_bound",
        "sloppiness.parameter_count_bound",
    ),
    empirical=True,
)
def sloppy_certificates(
    key,
    hidden: Annotated[int, Range(6, 24)] = 8,
    steps: Annotated[int, Range(50, 200)] = 100,
    images: Annotated[int, Range(40, 120)] = 80,
    draws: Annotated[int, Range(100, 400)] = 200,
):
    """Digits, 1297 for training, 500 for testing; the Fisher information on `images` of the training digits."""
    rng = data.generator(key)
    x, labels, test, test_labels = data.digits_split()
    y, test_y, n = one_hot(labels, 10), one_hot(test_labels, 10), len(labels)
    net = ShallowClassifier(64, hidden, 10)
    w0 = net.draw(rng)
    w, _ = net.train(w0, x, y, steps)
    spectrum = net.spectrum(w, x[:images])

    def errors(weights, inputs, truth):
        return np.array([1 - net.accuracy(v, inputs, truth) for v in weights])

    def certified(candidates):
        """The candidate (kl, sampler) with the best bound from 5 draws; its bound and test error from fresh draws."""
        rough = [
            generalisation.sampled_pac_bayes_bound(
                np.repeat(errors(sample(rng.normal(size=(5, net.size))), x, y), 40), kl, n
            )
            for kl, sample in candidates
        ]
        best = int(np.argmin(rough))
        kl, sample = candidates[best]
        weights = sample(rng.normal(size=(draws, net.size)))
        bound = generalisation.sampled_pac_bayes_bound(errors(weights, x, y), kl, n, choices=len(DEVIATIONS))
        return best, bound, float(errors(weights[:100], test, test_y).mean())

    posteriors = [sloppiness.aligned_posterior(spectrum, w, w0, a, c * n) for a in DEVIATIONS for c in STRENGTHS]
    best, aligned, aligned_test = certified([(q.kl(), q.sample) for q in posteriors])
    chosen = posteriors[best]
    isotropics = [
        (float(generalisation.diagonal_gaussian_kl(w, a * r, w0, a)), lambda noise, s=a * r: w + s * noise)
        for a in DEVIATIONS
        for r in SHARES
    ]
    _, isotropic, isotropic_test = certified(isotropics)
    counted = sloppiness.parameter_count_bound(1 - net.accuracy(w, x, y), net.size, n)

    covariance = np.eye(net.size) * chosen.prior_deviation**2
    covariance += (chosen.vectors.T * (chosen.deviations**2 - chosen.prior_deviation**2)) @ chosen.vectors
    a2, moved = chosen.prior_deviation**2, w - w0
    dense = 0.5 * (np.trace(covariance) / a2 - net.size - np.linalg.slogdet(covariance / a2)[1] + moved @ moved / a2)
    yield close(chosen.kl(), dense, "KL by eigen-directions, by traces and determinants", rtol=1e-8)
    yield at_most(aligned, isotropic, "bound of the aligned posterior, of the isotropic one")
    yield at_most(aligned, 0.9, "bound of the aligned posterior, error of guessing", strict=True)
    yield at_least(counted, 1.0, "bound by the parameter count: nothing is said")
    yield at_most(aligned_test, aligned, "test error of the aligned posterior, its bound (confidence 95%)")
    yield at_most(isotropic_test, isotropic, "test error of the isotropic posterior, its bound (confidence 95%)")
    stiff = chosen.stiff_directions()
    yield at_most(stiff, net.size, "directions with s < 0.9 a, parameter count", strict=True)
    costs, rest = chosen.costs()
    k = 1 + np.arange(len(costs))
    yield figure.beside(
        f"{stiff} stiff directions of {net.size} parameters certify an error of at most {aligned:.2f}; tested: "
        f"{aligned_test:.2f}",
        figure.bars(
            "By parameter count, isotropic, aligned", x="certificate", y="error",
            values={
                "bound": {"count": counted, "isotropic": isotropic, "aligned": aligned},
                "test error": {
                    "count": 1 - net.accuracy(w, test, test_y), "isotropic": isotropic_test,
                    "aligned": aligned_test,
                },
            },
        ),
        figure.curves(
            f"KL = {chosen.kl():.0f} nats; {rest:.0f} of them outside the {len(k)} directions seen",
            x="direction k", y="nats",
            lines={"cumulative": (k, np.cumsum(costs))}, points={"cost of direction k": (k, costs)}, log="xy",
        ),
    )  # fmt: skip
