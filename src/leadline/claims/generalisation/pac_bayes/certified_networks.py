"""Networks trained by a PAC-Bayes bound and certified by it: digits 0-4 against 5-9, with random labels as control."""

import jax.numpy as jnp
import numpy as np

from leadline import data, generalisation
from leadline.claims.scenarios.generalisation.digit_halves import (
    digit_halves,
    drawn_weights,
    fitted_weights,
    half_logistic,
    logistic,
    scores,
)
from leadline.evidence import Int, OneOf, Real, at_least, at_most, close, erratum, frequency, instrument, mean, method
from leadline.generalisation.network_certificates import certify_posterior
from leadline.generalisation.posterior_training import GaussianPosterior
from leadline.presentation import figure


@method(sources=("eth",))
def pac_bayes_training(
    key, dim: Int(1, 8) = 4, prior_deviation: Real(0.08, 0.15) = 0.1, steps: OneOf(500, 800, 1500) = 500
):
    r"""Training a network on its PAC-Bayes bound.

    Minimise the bound itself, $E_Q$ of a surrogate loss plus $\sqrt{(\mathrm{KL} + \ln(2\sqrt n/\delta))/2n}$, over $Q
    = N(\mu, \mathrm{diag}\, e^{2\rho})$, by gradients through $\theta = \mu + e^\rho \epsilon$. These gradients are
    unbiased, with less variance than the score function's. Without the KL term the widths shrink and the bound is lost.

    $$\min_{\mu, \rho} E_\epsilon \hat l(\mu + e^\rho \epsilon) + \sqrt{\frac{\mathrm{KL} + \ln (2 \sqrt n / \delta)}{2
    n}}$$

    Assumes: the surrogate lies above the 0-1 error: logistic loss over ln 2.

    Check: The two gradient estimators are compared on a random quadratic in `dim` dimensions. The bound is then
    minimised for digits 0–4 against 5–9 with a 64-64-1 network and the prior centred at the initial weights.
    """
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
            what = f"{name} gradient in {which} on a quadratic: unbiased"
            yield mean(samples @ weights, truth @ weights, what)
    spreads = (through[0].var(axis=0), scored[0].var(axis=0))
    yield at_most(*spreads, "variance of the gradient in μ, reparameterised against score function", strict=True)
    task, start = digit_halves(rng), drawn_weights(rng)
    n, rows = len(task.labels), (task.inputs, task.labels)
    begin = GaussianPosterior(start, tuple(jnp.full_like(a, np.log(0.05)) for a in start))
    options = {"prior_deviation": prior_deviation, "num_steps": steps, "rates": (2e-3, 2e-2), "key": key}
    train = generalisation.train_posterior
    runs = {form: train(logistic, begin, start, *rows, form=form, **options) for form in ("relaxed", "unpriced")}
    run, bare = runs.values()
    options = {"prior": start, "prior_deviation": prior_deviation, "draws": 2000, "key": key}
    found = certify_posterior(scores, run.posterior, *rows, **options)
    half = (1 - found.confidence) / 2
    empirical = generalisation.kl_inverse(found.sampled_error, np.log(1 / half) / found.draws)
    by_hand = generalisation.kl_inverse(empirical, (found.kl + np.log(2 * np.sqrt(n) / half)) / n)
    yield close(found.value, by_hand, "certificate, by hand with δ/2 for the draws and δ/2 for the theorem", rtol=1e-9)
    late = slice(-100, None)
    price = {form: np.sqrt((r.kl + np.log(2 * np.sqrt(n) / 0.05)) / (2 * n)) for form, r in runs.items()}
    whole = run.surrogate + price["relaxed"]
    fallen = at_most(whole[late].mean(), whole[:20].mean(), "objective with the price of KL at the end, at the start")
    yield fallen
    yield at_most(found.sampled_error, run.surrogate[late].mean(), "0-1 error of Q, its surrogate (late mean)")
    yield at_least(
        bare.kl[-1], run.kl[-1], "KL after training without the KL term, against training with it", strict=True
    )
    paid = at_most(
        price["unpriced"][-1],
        price["relaxed"][-1],
        "complexity √(·/2n) after updates without the KL term, against with it",
    )
    yield erratum(paid, of=fallen, by="eth", prints="update of θ and σ by the gradient of l̂ alone, to minimise l_PAC")
    shrunk = bare.mean_log_deviation[-1] - bare.mean_log_deviation[0]
    yield at_most(shrunk, 0.0, "change of the mean ln σ without the price: it falls", strict=True)
    t = np.arange(steps)
    smooth = np.convolve(np.pad(run.surrogate, 10, "edge"), np.ones(21) / 21, "valid")
    parts = {"surrogate + price": (t, smooth + price["relaxed"]), "surrogate risk": (t, smooth)}
    parts["price √((KL + ln)/2n)"] = (t, price["relaxed"])
    widths = {"with the price": (t, run.mean_log_deviation), "loss alone": (t, bare.mean_log_deviation)}
    prior = {"prior": ("y", float(np.log(prior_deviation)))}
    yield figure.beside(
        f"Trained by the bound: error {found.sampled_error:.3f}, KL {found.kl:.0f}, certificate {found.value:.3f}; "
        f"without the price KL is {bare.kl[-1]:.0f}",
        figure.curves("Bound, surrogate risk and price", "step", "value", lines=parts),
        figure.curves("Mean ln σ: the loss alone lets it fall", "step", "mean ln σ", lines=widths, rules=prior),
    )


@instrument(
    sources=("eth", "sheet"), shows=("generalisation.network_certificate",), slow="about 10 seconds", empirical=True
)
def pac_bayes_certificate(key, steps: OneOf(800, 1000, 1500) = 800, draws: Int(4000, 10000) = 4000):
    r"""PAC-Bayes certificate for a stochastic network.

    A certificate for a network with noise on its weights: its risk is at most the kl-inverse of its training error and
    (KL + ln(2√n/δ′))/n. On digits the certificate is informative, more so with a prior trained on half of them; with
    random labels it is vacuous, as it must be.

    $$R(Q) \le \mathrm{kl}^{-1} \left( \hat R(Q) \,\middle|\, \frac{\mathrm{KL}(Q \| P) + \ln (2 \sqrt n / \delta')}{n}
    \right)$$

    Assumes: the prior does not depend on the rows of the bound; the examples are independent.

    Check: Digits 0–4 are classified against 5–9 by a 64-64-1 network of 4225 weights, with δ = 0.05. The prior is
    N(start, 0.1²), or N(w, 0.03²) with w trained on half of the rows, in which case the bound counts only the others.
    Shuffled labels serve as a control.
    """
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
        begin = GaussianPosterior(centre, tuple(jnp.full_like(a, np.log(width)) for a in centre))
        options = {"prior_deviation": prior_deviation, "key": key}
        descent = {"num_steps": steps, "rates": (3e-3, 2e-2), "batch": 256}
        run = generalisation.train_posterior(half_logistic, begin, centre, inputs, labels, **descent, **options)
        tested = {"prior": centre, "draws": draws, "test": (task.test_inputs, truth)}
        found[name] = certify_posterior(scores, run.posterior, inputs, labels, **tested, **options)
    first, split, random = found.values()
    yield at_most(first.value, 0.40, "certificate, prior at the start")
    yield at_most(split.value, 0.12, "certificate, prior trained on half of the rows")
    yield at_least(random.value, 0.5, "certificate with random labels: no better than a guess")
    for name, each in found.items():
        what = f"test error and certificate, {name}"
        yield frequency(round(360 * each.test_error), 360, each.value, what, side="at most")
        half = (1 - each.confidence) / 2
        paid = (each.kl + each.grid_cost + np.log(2 * np.sqrt(each.n) / half)) / each.n
        by_hand = generalisation.kl_inverse(each.empirical, paid)
        yield close(each.value, by_hand, f"certificate, from n, KL, E_Q R̂ and δ by hand, {name}", rtol=1e-9)
    for name, each in (("prior at the start", first), ("prior from half", split)):
        yield at_most(each.value, each.chance_error, f"certificate, {name}: better than guessing", strict=True)
    yield at_least(
        random.value, random.chance_error, "certificate with random labels: vacuous, no better than guessing"
    )
    fields = {"certificate": "value", "test error": "test_error", "training error of Q": "sampled_error"}
    values = {shown: {name: getattr(each, field) for name, each in found.items()} for shown, field in fields.items()}
    title = (
        f"Certified: error at most {first.value:.2f}, and {split.value:.2f} with a prior from half of the digits; "
        f"random labels {random.value:.2f}"
    )
    arms, rules = "prior at the start, prior from half, random labels", {"chance": ("y", first.chance_error)}
    yield figure.bars(title, arms, "error", values=values, rules=rules)
