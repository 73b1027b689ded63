"""Features with mean 0 and variance 1, and the affine part that gives the function class back."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from scipy.stats import norm

from leadline import data, regularisation
from leadline.claims.scenarios.regularisation.stateful_layers import batch_norm, on_batch
from leadline.evidence import Int, Real, close, frequency, method
from leadline.presentation import figure

LINEAR = 1.5  # |σ(x) − (½ + x/4)| is at most 0.06 for |x| up to here


@method(sources=("eth", "penn"), shows=("regularisation.normalise_features",))
def feature_normalisation(
    key,
    rows: Int(20, 5000) = 2000,
    scale: Real(0.1, 20.0, log=True) = 5.0,
    offset: Real(-10.0, 10.0) = 3.0,
    epsilon: Real(1e-8, 1.0, log=True) = 1e-5,
):
    r"""Feature normalisation.

    A feature less its mean, over the root of its variance plus ε, has mean 0 and variance Var/(Var + ε). A trained gain
    and shift follow; with gain √(Var + ε) and shift E f they undo it, so that no function is lost. Normalised inputs
    leave a sigmoid's linear range seldom; the affine part can send them out again.

    $$\bar f = \frac{f - \mathbb{E} f}{\sqrt{\mathrm{Var}\, f + \varepsilon}}, \qquad \mathrm{Var}\, \bar f =
    \frac{\mathrm{Var}\, f}{\mathrm{Var}\, f + \varepsilon}, \qquad a \bar f + b = f \;\text{ for }\; a = \sqrt{
    \mathrm{Var}\, f + \varepsilon}, \; b = \mathbb{E} f$$

    Check: Gaussian features with mean `offset` and deviation `scale`; the affine part is gain 4, shift 1. The linear
    range of the sigmoid is |x| ≤ 1.5, where it is within 0.06 of its tangent.
    """
    rng = data.generator(key)
    h = offset + scale * rng.normal(size=(rows, 3))
    out = np.asarray(regularisation.normalise_features(jnp.asarray(h), epsilon=epsilon))
    spread = h.var(axis=0)
    size = np.abs(h).max() / np.sqrt(spread + epsilon)
    yield close(out.mean(axis=0), 0.0, "mean after normalising", atol=1e-14 * rows * size.max())
    what = "variance after normalising, against Var/(Var + ε)"
    yield close(out.var(axis=0), spread / (spread + epsilon), what, rtol=1e-10)
    layer, state = batch_norm(3, epsilon=epsilon)
    given = jnp.sqrt(spread + epsilon), jnp.asarray(h.mean(axis=0))
    layer = eqx.tree_at(lambda n: (n.weight, n.bias), layer, given)
    back, _ = on_batch(layer, state, jnp.asarray(h))
    what = "with gain √(Var + ε) and shift E f: the feature again"
    yield close(back, h, what, atol=1e-10 * max(1.0, float(np.abs(h).max())))
    outside = {"raw": h, "normalised": out, "gain 4, shift 1": 1 + 4 * out}
    shrink = scale / np.hypot(scale, np.sqrt(epsilon))  # of the population; 1 but for ε
    theirs = {"raw": (offset, scale), "normalised": (0.0, shrink), "gain 4, shift 1": (1.0, 4 * shrink)}
    counts = [int(np.sum(np.abs(outside[name][:, 0]) > LINEAR)) for name in outside]
    shares = [norm.cdf(-LINEAR, *theirs[name]) + norm.sf(LINEAR, *theirs[name]) for name in outside]
    # Shares after normalising scatter less than those of independent rows, so that the interval is wide enough.
    what = "share outside the sigmoid's linear range: raw, normalised, with gain 4 and shift 1"
    yield frequency(counts, rows, shares, what)
    ends = max(np.abs(values[:, 0]).max() for values in outside.values())
    reach = np.linspace(-ends, ends, 400)
    title = (
        f"Outside the sigmoid's linear range: {shares[0]:.0%} of the raw inputs, {shares[1]:.0%} normalised, "
        f"{shares[2]:.0%} after the affine part"
    )
    samples = {name: values[:, 0] for name, values in outside.items()}
    lines = {f"predicted, {name}": (reach, norm.pdf(reach, *theirs[name])) for name in outside}
    rules = {"−1.5": ("x", -LINEAR), "1.5": ("x", LINEAR)}
    yield figure.histogram(title, "input of the sigmoid", samples=samples, lines=lines, rules=rules, bins=80)
