"""Networks trained by a PAC-Bayes bound and certified by it: digits 0-4 against 5-9, with random labels as control."""

from typing import Annotated

import jax.numpy as jnp
import numpy as np

from leadline import data, generalisation
from leadline.claims.generalisation.digit_halves import (
    digit_halves,
    drawn_weights,
    fitted_weights,
    half_logistic,
    logistic,
    scores,
)  # fmt: skip
from leadline.evidence import (
    Choice,
    Range,
    at_least,
    at_most,
    close,
    exactly,
    figure,
    frequency,
    instrument,
    mean,
    method,
    printed,
)  # fmt: skip


@method(
    "pac-bayes-training",
    says=(
        "Minimise the bound itself: E_Q surrogate + √((KL + ln(2√n/δ))/2n) over Q = N(μ, diag e^{2ρ}), by gradients "
        "through θ = μ + e^ρ ε. They are unbiased, with less variance than the score function's. Without the KL term "
        "the widths shrink and the bound is lost."
    ),
    formula=(
        r"\min_{\mu, \rho} E_\epsilon \hat l(\mu + e^\rho \epsilon) "
        r"+ \sqrt{\frac{KL + \ln (2 \sqrt n / \delta)}{2 n}}"
    ),
    sources=("eth",),
    assumes=("the surrogate is above the 0-1 error: logistic loss over ln 2",),
    shows=(
        "generalisation.train_posterior",
        "generalisation.reparameterised_gradient",
        "generalisation.score_gradient",
        "generalisation.certify_posterior",
    ),
)
def pac_bayes_training(
    key,
    dim: Annotated[int, Range(1, 8)] = 4,
    prior_deviation: Annotated[float, Range(0.08, 0.15)] = 0.1,
    steps: Annotated[int, Choice(500, 800, 1500)] = 500,
):
    """A random quadratic in `dim` dimensions for the gradients; then digits 0-4 against 5-9, network 64-64-1, prior at
    the start."""
    rng = data.generator(key)
    root, centre = rng.normal(size=(dim, dim)), rng.normal(size=dim)
    hessian = root @ root.T + 0.1 * np.eye(dim)
    mu, rho = rng.normal(size=dim), rng.uniform(-1.0, 0.5, dim)

    def quadratic(w):
        return 0.5 * (w - centre) @ hessian @ (w - centre)

    given = (quadratic, jnp.asarray(mu), jnp.asarray(rho), jnp.asarray(rng.normal(size=(20_000, dim))))
    through = [np.asarray(g) for g in generalisation.reparameterised_gradient(*given)]
    scored = [np.asarray(g) for g in generalisation.score_gradient(*given)]
    exact = (hessian @ (mu - centre), np.diag(hessian) * np.exp(2 * rho))
    weights = rng.normal(size=dim)
    for name, estimates in (("reparameterised", through), ("score function", scored)):
        for which, samples, truth in zip("μρ", estimates, exact, strict=True):
            yield mean(
                samples @ weights, float(truth @ weights), f"{name} gradient in {which} on a quadratic: unbiased"
            )
    yield at_most(
        through[0].var(axis=0), scored[0].var(axis=0), "variance in μ, reparameterised and score", strict=True
    )

    task, start = digit_halves(rng), drawn_weights(rng)
    n, width = len(task.labels), np.log(0.05)
    begin = generalisation.GaussianPosterior(start, tuple(jnp.full_like(a, width) for a in start))
    runs = {
        form: generalisation.train_posterior(
            logistic, begin, start, task.inputs, task.labels, prior_deviation=prior_deviation, steps=steps, form=form,
            rates=(2e-3, 2e-2), key=key,
        )
        for form in ("relaxed", "unpriced")
    }  # fmt: skip
    run, bare = runs["relaxed"], runs["unpriced"]
    found = generalisation.certify_posterior(
        scores,
        run.posterior,
        task.inputs,
        task.labels,
        prior=start,
        prior_deviation=prior_deviation,
        draws=2000,
        key=key,
    )
    half = (1 - found.confidence) / 2
    empirical = generalisation.kl_inverse(found.sampled_error, np.log(1 / half) / found.draws)
    by_hand = generalisation.kl_inverse(empirical, (found.kl + np.log(2 * np.sqrt(n) / half)) / n)
    yield close(found.value, by_hand, "certificate, by hand with δ/2 for the draws and δ/2 for the theorem", rtol=1e-9)

    late = slice(-100, None)
    price = {form: np.sqrt((r.kl + np.log(2 * np.sqrt(n) / 0.05)) / (2 * n)) for form, r in runs.items()}
    whole = {form: r.surrogate + price[form] for form, r in runs.items()}
    yield at_most(whole["relaxed"][late].mean(), whole["relaxed"][:20].mean(), "objective at the end, at the start")
    yield at_most(found.sampled_error, run.surrogate[late].mean(), "0-1 error of Q, its surrogate (late mean)")
    yield at_least(bare.kl[-1], run.kl[-1], "KL without its price, with it", strict=True)
    yield printed(
        at_most(price["unpriced"][-1], price["relaxed"][-1], "price √(·/2n) after the update without KL, with it"),
        "eth",
        "update by the gradient of the loss alone: the widths shrink, KL and bound grow",
    )
    shrunk = bare.mean_log_deviation[-1] - bare.mean_log_deviation[0]
    yield at_most(shrunk, 0.0, "change of the mean ln σ without the price: it falls", strict=True)
    t = np.arange(steps)
    keep = np.unique(np.linspace(0, steps - 1, 80).astype(int))
    smooth = {form: np.convolve(np.pad(r.surrogate, 10, "edge"), np.ones(21) / 21, "valid") for form, r in runs.items()}
    yield figure.beside(
        f"Trained by the bound: error {found.sampled_error:.3f}, KL {found.kl:.0f}, certificate {found.value:.3f}; "
        f"without the price KL is {bare.kl[-1]:.0f}",
        figure.curves(
            "Bound, surrogate risk and price", x="step", y="value",
            lines={
                "surrogate + price": (t[keep], (smooth["relaxed"] + price["relaxed"])[keep]),
                "surrogate risk": (t[keep], smooth["relaxed"][keep]),
                "price √((KL + ln)/2n)": (t[keep], price["relaxed"][keep]),
            },
        ),
        figure.curves(
            "Mean ln σ: the printed rule lets it fall", x="step", y="mean ln σ",
            lines={
                "with the price": (t[keep], run.mean_log_deviation[keep]),
                "loss alone": (t[keep], bare.mean_log_deviation[keep]),
            },
            rules={"prior": ("y", float(np.log(prior_deviation)))},
        ),
    )  # fmt: skip


@instrument(
    "pac-bayes-certificate",
    says=(
        "A certificate for a network with noise on its weights: its risk is at most the kl-inverse of its training "
        "error and (KL + ln(2√n/δ′))/n. On digits it says something, more so with a prior trained on half of them; "
        "with random labels it is vacuous, as it must be."
    ),
    formula=r"R(Q) \le kl^{-1} \left( \hat R(Q) \,\middle|\, \frac{KL(Q \| P) + \ln (2 \sqrt n / \delta')}{n} \right)",
    sources=("eth", "sheet"),
    assumes=("the prior does not depend on the rows of the bound", "the examples are independent"),
    shows=("generalisation.certify_posterior", "generalisation.network_certificate"),
    slow="about 10 seconds",
    empirical=True,
)
def pac_bayes_certificate(
    key,
    steps: Annotated[int, Choice(800, 1000, 1500)] = 800,
    draws: Annotated[int, Range(4000, 10000)] = 4000,
):
    """Digits 0-4 against 5-9, network 64-64-1 of 4225 weights, δ = 0.05: prior N(start, 0.1²), or N(w, 0.03²) with w
    trained on half of the rows (the bound counts the others); labels shuffled as a control."""
    rng = data.generator(key)
    task, start = digit_halves(rng), drawn_weights(rng)
    seen = len(task.labels) // 2
    trained = fitted_weights(start, task.inputs[:seen], task.labels[:seen])
    shuffled, test_shuffled = rng.permutation(task.labels), rng.permutation(task.test_labels)
    arms = {
        "start": (start, 0.1, 0.05, task.inputs, task.labels, task.test_labels),
        "half": (trained, 0.03, 0.03, task.inputs[seen:], task.labels[seen:], task.test_labels),
        "random": (start, 0.1, 0.05, task.inputs, shuffled, test_shuffled),
    }
    found = {}
    for name, (centre, prior_deviation, width, inputs, labels, truth) in arms.items():
        begin = generalisation.GaussianPosterior(centre, tuple(jnp.full_like(a, np.log(width)) for a in centre))
        run = generalisation.train_posterior(
            half_logistic, begin, centre, inputs, labels, prior_deviation=prior_deviation, steps=steps,
            rates=(3e-3, 2e-2), batch=256, key=key,
        )  # fmt: skip
        found[name] = generalisation.certify_posterior(
            scores, run.posterior, inputs, labels, prior=centre, prior_deviation=prior_deviation, draws=draws, key=key,
            test=(task.test_inputs, truth),
        )  # fmt: skip
    first, split, random = found.values()
    yield at_most(first.value, 0.40, "certificate, prior at the start")
    yield at_most(split.value, 0.12, "certificate, prior trained on half of the rows")
    yield at_least(random.value, 0.5, "certificate with random labels: no better than a guess")
    for name, each in found.items():
        what = f"test error and certificate, {name}"
        yield frequency(round(360 * each.test_error), 360, each.value, what, side="at most")
        half = (1 - each.confidence) / 2
        paid = (each.kl + each.grid_cost + np.log(2 * np.sqrt(each.n) / half)) / each.n
        yield close(
            each.value, generalisation.kl_inverse(each.empirical, paid), f"from n, KL, E_Q R̂ and δ, {name}", rtol=1e-9
        )
    yield exactly([each.vacuous for each in found.values()], [False, False, True], "vacuous: only with random labels")
    yield figure.bars(
        f"Certified: error at most {first.value:.2f}, and {split.value:.2f} with a prior from half of the digits; "
        f"random labels {random.value:.2f}",
        x="prior at the start, prior from half, random labels", y="error",
        values={
            "certificate": {name: each.value for name, each in found.items()},
            "test error": {name: each.test_error for name, each in found.items()},
            "training error of Q": {name: each.sampled_error for name, each in found.items()},
        },
        rules={"chance": ("y", first.chance_error)},
    )  # fmt: skip
