"""What choosing does to a score: the optimism of the best of many, and whether rankings hold on a second test set."""

import numpy as np

from leadline import data, regularisation
from leadline.claims.scenarios.regularisation.digit_models import judged_digit_models
from leadline.evidence import Int, Real, at_least, at_most, claim, frequency, mean, reference
from leadline.presentation import figure
from leadline.regularisation.evaluation.selection_optimism import attack_accuracy, orient_and_vote


@claim(sources=("penn",), shows=("regularisation.selection_optimism",))
def validation_overfitting(
    key,
    models: Int(1, 100_000, log=True) = 1000,
    rows: Int(50, 2000, log=True) = 1000,
    accuracy: Real(0.5, 0.95) = 0.8,
    guessers: Int(1, 1000, log=True) = 500,
):
    r"""Overfitting the validation set.

    The best of K equally good models, chosen on n rows, looks better than it is: by sd·E[max of K normals], at most
    sd·√(2 ln K). A score that is asked K times can be fitted without learning: turn each of K random guessers the way
    its score says, and let the majority vote.

    $$\mathbb{E}\max_k \hat a_k - a \approx \mathrm{sd}\;\mathbb{E}\max_k Z_k \le \mathrm{sd} \sqrt{2 \ln K}, \;
    \mathrm{sd} = \sqrt{\tfrac{a(1-a)}{n}}; \qquad \text{attack} \to \Phi\Big(\sqrt{\tfrac{2K}{\pi n}}\Big)$$

    Assumes: independent models; a ≥ ½ for the upper bound; guessers and labels are coin tosses.

    Check: Scores are drawn, and compared with the exact mean of the largest of K binomials. The attack is carried out
    on n rows, and its majority scored on n new ones.
    """
    rng = data.generator(key)
    predicted = regularisation.selection_optimism(accuracy, rows, models)
    repeats = int(np.clip(2_000_000 // models, 40, 400))
    best = np.array([rng.binomial(rows, accuracy, size=models).max() for _ in range(repeats)]) / rows
    yield mean(
        best - accuracy, predicted.exact, f"optimism of the best of {models}, against the mean of the largest score"
    )
    yield at_most(predicted.exact, predicted.ceiling, "optimism, against sd·√(2 ln K)", atol=1e-12)
    # The normal approximation errs by the skewness of a score, of the order 1/√(n a(1−a)), times 2 ln K in the tail.
    skew = (1 + 2 * np.log(models)) / np.sqrt(rows * accuracy * (1 - accuracy))
    off = abs(predicted.exact - predicted.gaussian) / np.sqrt(accuracy * (1 - accuracy) / rows)
    yield at_most(off, skew, "exact less Gaussian optimism in units of sd, against the order of its error")
    for count, told, most in ((10, 0.0191, 0.0271), (100, 0.0310, 0.0384), (1000, 0.0400, 0.0470)):
        known = regularisation.selection_optimism(0.8, 1000, count)
        yield reference(known.exact, told, f"n = 1000, a = 0.8: optimism of the best of {count}", digits=2)
        yield reference(known.ceiling, most, f"n = 1000, a = 0.8, K = {count}: sd·√(2 ln K)", digits=3)
    scores, fresh = _attacks(rng, guessers, rows, 40)
    attack = attack_accuracy(guessers, rows)
    what = f"validation accuracy of the majority of {guessers} guessers, against the exact one"
    imperfect = "the attack is right on at most 99 rows of 100, so that 40 of them vary"
    yield mean(scores, attack.exact, what).given(attack.exact <= 0.99, imperfect)
    yield frequency(round(fresh.sum() * rows), 40 * rows, 0.5, "accuracy of the same majority on new rows")
    told = attack_accuracy(1000, 1000)
    yield reference(told.gaussian, 0.788, "attack with K = n = 1000: Φ(√(2/π))", digits=3)
    counts = np.unique(np.geomspace(1, max(models, 10), 9).round().astype(int))
    line = [regularisation.selection_optimism(accuracy, rows, int(c)) for c in counts]
    drawn = [
        np.mean([rng.binomial(rows, accuracy, size=int(c)).max() for _ in range(60)]) / rows - accuracy for c in counts
    ]
    lines = {
        "exact": (counts, [one.exact for one in line]),
        "sd·E[max of K normals]": (counts, [one.gaussian for one in line]),
        "sd·√(2 ln K)": (counts, [one.ceiling for one in line]),
    }
    attacked = f"{guessers} guessers validate at {np.mean(scores):.2f}, test at {np.mean(fresh):.2f}"
    title = f"The best of {models} looks {predicted.exact:.3f} better than it is; {attacked}"
    points = {"exact": (counts, drawn)}
    yield figure.curves(title, "models K to choose from", "optimism of the score", lines=lines, points=points, log="x")


def _attacks(rng, guessers, rows, repeats):
    """Accuracies of the majority on the rows that oriented it, and on new ones."""
    scores, fresh = [], []
    for _ in range(repeats):
        labels = rng.random((2, rows)) < 0.5
        guesses = rng.random((2, guessers, rows)) < 0.5
        votes = orient_and_vote(guesses[0], labels[0], guesses[1])
        scores.append(np.mean(votes[0] == labels[0]))
        fresh.append(np.mean(votes[1] == labels[1]))
    return np.array(scores), np.array(fresh)


@claim(sources=("penn",), shows=("regularisation.replicate",), empirical=True)
def test_set_replication(key, images: Int(200, 500) = 300, shift: Real(0.0, 0.3) = 0.15):
    r"""Rankings hold on a second test set.

    On a fresh test set that differs a little from the first, scores drop, but the ranking of methods is largely kept.

    $$\tau(\text{old}, \text{new}) > 0.6, \qquad \overline{\text{old} - \text{new}} \ge 0$$

    Assumes: nothing; this is an observation.

    Check: 26 classifiers of scikit-learn, trained on `images` digits; two disjoint halves of the other digits, the
    second with Gaussian noise of standard deviation `shift` on its pixels. Intervals by resampling the items.
    """
    old, new = judged_digit_models(key, images, shift)
    found = regularisation.replicate(old, new, resamples=200, key=key)
    yield at_least(found.tau.estimate, 0.6, "Kendall's τ of old and new accuracies", strict=True).as_empirical()
    yield at_least(found.tau.low, 0.0, "lower end of the 95% interval of τ", strict=True).as_empirical()
    what = "mean drop from the old to the new set: lower end of its 95% interval"
    falls = at_least(found.drop.low, 0.0, what, strict=True).as_empirical()
    yield falls.given(shift >= 0.1, "the second set has noise of standard deviation 0.1 or more")
    ends = [float(min(found.old.min(), found.new.min())), float(max(found.old.max(), found.new.max()))]
    slope, level = np.polyfit(found.old, found.new, 1)
    lines = {"equal": (ends, ends), "least squares": (ends, [slope * e + level for e in ends])}
    tau, drop = found.tau, found.drop
    title = (
        f"Old and new ranking: τ = {tau.estimate:.2f} ({tau.low:.2f} to {tau.high:.2f}); mean drop "
        f"{100 * drop.estimate:.1f} ({100 * drop.low:.1f} to {100 * drop.high:.1f}) points"
    )
    points = {"one classifier each": (found.old, found.new)}
    yield figure.curves(title, "accuracy on the old test set", "accuracy on the new one", lines=lines, points=points)
