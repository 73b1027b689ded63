"""The audit of trained networks: nothing is named in good ones, a wrong one is named with its arm."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline.audits.regularisation.trained_modes import trained_modes
from leadline.regularisation import Arm, compare_regularisers


def test_good_networks_have_nothing_to_name_and_one_with_old_statistics_does():
    rng = np.random.default_rng(0)
    x = rng.normal(2.0, 1.0, size=(80, 3)).astype(np.float32)
    arms, kept = (Arm("none"), Arm("batch norm", normalisation="batch")), {}

    def keep(arm, train, untrained):
        kept[arm.name] = train()
        return kept[arm.name]

    options = {"arms": arms, "seeds": 2, "num_steps": 30, "hidden": (4,), "standardise": False, "keep": keep}
    compare_regularisers(x, x[:, 0] > 2, key=jax.random.key(0), **options)
    clean, left = trained_modes(kept, x, x)
    assert (clean.verdict, left.verdict) == ("holds", "holds")
    assert "4 trained networks" in clean.what
    old = jax.tree.map(lambda a: 0 * a if jnp.issubdtype(a.dtype, jnp.floating) else a, kept["batch norm"].layers)
    wrong = eqx.tree_at(lambda arm: arm.layers, kept["batch norm"], old)
    named, _ = trained_modes({"none": kept["none"], "batch norm": wrong}, x, x)
    assert named.verdict == "fails"
    assert "batch norm: stale statistics" in str(named.measured)
