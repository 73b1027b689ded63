"""The range of step sizes that train, with batch normalisation and without."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from leadline.claims.scenarios.regularisation.normalised_digits import dense_maker, digit_part, logits, trained
from leadline.claims.scenarios.regularisation.paired_findings import paired_excess
from leadline.evidence import Int, claim
from leadline.presentation import figure

RATES = np.geomspace(1e-4, 10.0, 11)  # two to a decade
GOAL = 0.95


@claim(sources=("penn", "eth"), empirical=True, slow="about 25 seconds", shows=("regularisation.RegularisedMLP",))
def batch_norm_learning_rate_insensitivity(
    key, deepest: Int(8, 20) = 10, seeds: Int(3, 8) = 5, num_steps: Int(100, 400) = 150
):
    r"""Batch normalisation widens the range of step sizes.

    More step sizes reach a given training accuracy with batch normalisation than without, and the more so the deeper
    the network. One reason: the loss does not depend on the length of a weight vector, whose step then counts as
    η/‖w‖², and too large a step lengthens w, which lowers the next ones.

    $$\#\{\eta : \mathrm{accuracy} \ge 0.95\}_{\mathrm{BN}} > \#\{\eta : \mathrm{accuracy} \ge
    0.95\}_{\mathrm{plain}}, \qquad \eta_{\mathrm{eff}} = \eta/\|w\|^2$$

    Assumes: SGD with a fixed number of steps, He's initialisation.

    Check: Networks of 2, 5 and `deepest` layers of 20 units on 200 digits, η from 10⁻⁴ to 10, two to a decade; accuracy
    on the training rows with their own statistics. Where no η reaches 0.95 at the greatest depth, with or without, the
    comparison does not apply: so it is at 20 layers within 150 steps.
    """
    part = digit_part(200)
    depths = (2, 5, deepest)
    counts, final, effective = {}, {}, {}
    for depth in depths:
        for name, normalisation in (("plain", None), ("BN", "batch")):
            scores, losses, rates = _sweep(key, part, depth, normalisation, seeds, num_steps)
            counts[depth, name] = (scores >= GOAL).sum(axis=0) / 2  # decades, by seed
            final[depth, name] = np.median(np.where(np.isfinite(losses), losses, np.inf), axis=1)
            effective[depth, name] = rates
    more = {depth: counts[depth, "BN"] - counts[depth, "plain"] for depth in depths}
    reached = bool(max(counts[deepest, name].max() for name in ("BN", "plain")) > 0)
    what = f"{deepest} layers: decades of step sizes that reach 0.95, with BN less without"
    wider = paired_excess(counts[deepest, "BN"], counts[deepest, "plain"], what)
    what = f"what BN adds to the decades of step sizes: with {deepest} layers less with 2"
    deeper = paired_excess(more[deepest], more[2], what)
    for finding in (wider, deeper):
        yield finding.given(reached, "some step size reaches an accuracy of 0.95 at the greatest depth")
    panels = []
    for name in ("plain", "BN"):
        points = {f"{depth} layers": (RATES, np.minimum(final[depth, name], 10.0)) for depth in depths}
        panels.append(figure.curves(name, "step size η", "training loss at the end", log="xy", points=points))
    most = effective[deepest, "BN"]
    title = (
        f"Decades of η that train {deepest} layers: {counts[deepest, 'plain'].mean():.1f} plain, "
        f"{counts[deepest, 'BN'].mean():.1f} with BN; at η = {RATES[8]:.2g} ‖w‖² grows {most:.2g}-fold"
    )
    yield figure.beside(title, *panels)


def _sweep(key, part, depth, normalisation, seeds, num_steps):
    """Training accuracy and last loss (rates, seeds); by how much η/‖w‖² of the first layer is lower at η = 1."""
    make = dense_maker((64, *[20] * (depth - 1), 10), normalisation=normalisation)

    def run(rate):
        nets, states, losses = trained(key, make, part, seeds=seeds, num_steps=num_steps, rate=rate, batch=50)
        out = logits(nets, states, part.x, inference=False)
        weights = nets.dense.affine()[0][0]
        return out, jnp.mean(losses[:, -10:], axis=1), jnp.sum(weights**2, axis=(1, 2))

    out, losses, squares = eqx.filter_jit(eqx.filter_vmap(run))(jnp.asarray(RATES, jnp.float32))
    scores = np.asarray(jnp.mean(jnp.argmax(out, axis=-1) == part.y, axis=-1))
    squares = np.asarray(squares)
    return scores, np.asarray(losses), float(np.median(squares[8] / squares[0]))
