"""Monte Carlo dropout: the spread over masks as uncertainty, beside an ensemble and an exact posterior."""

import equinox as eqx
import jax
import numpy as np

from leadline import bayes, data
from leadline.claims.scenarios.regularisation.gap_regressions import (
    INNER,
    OUTER,
    gap_rows,
    predictions,
    train_on_gap,
    true_function,
)
from leadline.claims.scenarios.regularisation.paired_findings import paired_excess
from leadline.evidence import Real, at_least, close, erratum, instrument
from leadline.presentation import figure

SEEDS = 8
COUNTS = (32, 128, 512)  # rows
NEW = 200  # test rows


@instrument(sources=("penn",), shows=("regularisation.mc_dropout", "regularisation.keyed_apply"))
def mc_dropout_uncertainty(key, rate: Real(0.05, 0.3) = 0.1, noise: Real(0.05, 0.2) = 0.1):
    r"""Monte Carlo dropout as uncertainty.

    Masks stay on at test time; the mean and the standard deviation of M passes are the prediction and a proxy for
    epistemic uncertainty, what the data leave open about the weights. It is larger where data are missing, is there
    without any noise in the targets, and at a fixed rate p does not vanish as data grow.

    $$\mu(x) = \frac1M \sum_m f(x; r_m), \qquad s(x)^2 = \frac{1}{M-1} \sum_m (f(x; r_m) - \mu(x))^2$$

    Check: Networks 1-64-64-1 on a sine whose middle is missing, eight seeds; beside them the spread of an ensemble
    without dropout, and the exact posterior of a linear model on the last hidden layer of one network. From 32 to 512
    rows the spread must fall by less than the factor 4 of a posterior's, paired by seed. How many new rows lie within
    1.96 √(s² + σ²) of the mean is reported.
    """
    rng = data.generator(key)
    x = gap_rows(rng, COUNTS[-1])
    clean = true_function(x)
    noisy = clean + noise * rng.normal(size=len(x))
    counts, rates = (*COUNTS, COUNTS[1], COUNTS[1]), (rate,) * 4 + (0.0,)
    nets = train_on_gap(x, np.stack([noisy] * 3 + [clean, noisy]), counts, rates, key, seeds=SEEDS)
    grid = np.linspace(-1.3 * OUTER, 1.3 * OUTER, 105)
    gap, near = np.abs(grid) < INNER, (np.abs(grid) > INNER) & (np.abs(grid) < OUTER)
    masked = [predictions(_arm(nets, a), rate, grid, key) for a in range(4)]  # passes, grid, seeds
    spreads = [np.array([p.sd[where].mean(axis=0) for where in (near, gap)]) for p in masked]
    what = f"{COUNTS[1]} rows: sd over masks in the gap less that where there are data"
    yield paired_excess(*spreads[1][::-1], what, level=0.99)
    what = "targets without noise: sd over masks in the gap, above 0"
    weights = at_least(spreads[3][1], 1e-3, what)
    yield weights
    yield erratum(
        close(spreads[3][1], 0.0, "targets without noise: sd over masks in the gap, as their noise", atol=1e-3),
        of=weights,
        by="penn",
        prints="the spread over masks as aleatoric; as penn then explains, it comes of uncertain weights: epistemic",
    )
    kept = spreads[2][0].mean() / spreads[0][0].mean()
    posterior = np.log(spreads[0][0]) + np.log(COUNTS[0] / COUNTS[2]) / 2  # whose sd falls as 1/√n
    what = f"ln of sd over masks on data with {COUNTS[2]} rows, less that of {COUNTS[0]} rows if it fell as 1/√n"
    yield paired_excess(np.log(spreads[2][0]), posterior, what, level=0.99)
    plain = _arm(nets, 4)
    ensemble = np.asarray(_scores(plain.dense, grid))
    features = [np.c_[np.asarray(_features(plain.dense, rows)), np.ones(len(rows))] for rows in (x[: COUNTS[1]], grid)]
    head = bayes.last_layer_regression(features[0].astype(float), noisy[: COUNTS[1], None])
    exact = head.predict(features[1].astype(float))[0]
    new = gap_rows(rng, NEW)
    targets = true_function(new) + noise * rng.normal(size=NEW)
    told = predictions(_arm(nets, 1), rate, new, key)
    covered = np.abs(targets[:, None] - told.mean) <= 1.96 * np.sqrt(told.sd**2 + noise**2)
    bands = {
        "Monte Carlo dropout": (masked[1].mean[:, 0], masked[1].sd[:, 0]),
        "ensemble of eight": (ensemble.mean(axis=0), ensemble.std(axis=0, ddof=1)),
        "exact, last layer": (np.asarray(exact.mean), np.sqrt(np.asarray(exact.spread))),
    }
    shown = slice(0, COUNTS[1])
    panels = [
        figure.curves(
            name,
            "x",
            "y",
            lines={"mean": (grid, middle)},
            bands={"± 2 sd": (grid, middle - 2 * sd, middle + 2 * sd)},
            points={"training rows": (x[shown], noisy[shown])},
        )
        for name, (middle, sd) in bands.items()
    ]
    ratio = spreads[1][1].mean() / spreads[1][0].mean()
    title = (
        f"In the gap the spread over masks is {ratio:.1f} times that on data; with {COUNTS[2] // COUNTS[0]} times the "
        f"rows that is {kept:.0%} of what it was (95% bands cover {covered.mean():.0%} of new rows)"
    )
    yield figure.beside(title, *panels, columns=3)


def _arm(nets, index):
    return jax.tree.map(lambda leaf: leaf[index] if eqx.is_array(leaf) else leaf, nets)


@eqx.filter_jit
def _scores(stack, points):
    """The outputs of each network: (seeds, m)."""
    rows = points[:, None].astype(np.float32)
    return eqx.filter_vmap(lambda net: jax.vmap(net)(rows)[:, 0])(stack)


@eqx.filter_jit
def _features(stack, points):
    """The last hidden layer of the first network: (m, units)."""
    first = jax.tree.map(lambda leaf: leaf[0], stack)
    return jax.vmap(first.trace)(points[:, None].astype(np.float32)).post[-2]
