"""The trial of `leadline landscape` between two networks: straight line, matched units, trained curve."""

from collections.abc import Iterator

from jaxtyping import Array, PRNGKeyArray, PyTree

from leadline.evidence import Comparison, Figure, at_most, close
from leadline.presentation import figure

from .network_at_point import NetworkAtPoint

STEPS, POINTS = 400, 25


def connection(key: PRNGKeyArray, here: NetworkAtPoint, other: PyTree) -> Iterator[Comparison | Figure]:
    """Loss profiles of the three connectors and their barriers."""
    import equinox as eqx
    import jax.numpy as jnp

    from leadline.landscape import aligned_line, path_profile, straight_line, train_curve
    from leadline.networks import MLP

    @eqx.filter_jit
    def loss(network: PyTree, x: Array, y: Array) -> Array:
        return here.losses(network, x, y).mean()

    data = jnp.asarray(here.inputs), jnp.asarray(here.labels)
    paths = {"straight": straight_line(here.network, other)}
    if isinstance(here.network, MLP):
        paths["straight, units matched"] = aligned_line(here.network, other)
    bent = train_curve(loss, here.network, other, *data, key=key, num_steps=STEPS, batch=min(128, len(here.labels)))
    paths["trained Bézier curve"] = bent.curve
    profiles = {name: path_profile(loss, path, *data, points=POINTS) for name, path in paths.items()}
    for name, profile in profiles.items():
        yield close(
            profile.losses[0], float(loss(here.network, *data)), f"loss where the path begins, {name}", rtol=1e-4
        )
        yield close(profile.losses[-1], float(loss(other, *data)), f"loss where the path ends, {name}", rtol=1e-4)
    straight = profiles["straight"].barrier
    for name in [n for n in profiles if n != "straight"]:
        yield at_most(profiles[name].barrier, straight, f"barrier, {name}, against the straight line", atol=1e-6)
    said = ", ".join(f"{name} {profile.barrier:.3g}" for name, profile in profiles.items())
    yield figure.curves(
        f"Barriers: {said}",
        "position on the path",
        "mean loss",
        points={name: (profile.positions, profile.losses) for name, profile in profiles.items()},
    )
