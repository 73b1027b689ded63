"""Runs on several devices beside the same on one: do they end alike? Arguments: process, processes, port."""

import sys

import jax

jax.config.update("jax_enable_x64", True)


def main(process: int, processes: int, port: int) -> None:
    if processes > 1:
        jax.distributed.initialize(f"127.0.0.1:{port}", processes, process)
    import equinox as eqx
    import numpy as np
    import optax
    from jax.experimental.multihost_utils import process_allgather

    from tests.training.engine.forms import train

    def whole(run):
        arrays = jax.tree.leaves(eqx.filter((run.model, run.state, run.averages), eqx.is_array))
        found = [a if a.is_fully_addressable else process_allgather(a, tiled=True) for a in arrays]
        return [*(np.asarray(a) for a in found), *run.history.values()]

    count = len(jax.devices())
    meshes = {"rows": jax.make_mesh((count,), ("rows",)), "grid": jax.make_mesh((2, count // 2), ("rows", "parts"))}
    for name, mesh, shard in (("averages", "rows", False), ("state", "rows", False), ("players", "grid", True)):
        batch = {"batch": 16 if name != "players" else 8, "epochs": 2}
        if name == "state":  # Adam would divide the rounding errors of the bias before the normaliser by their size
            batch["optimiser"] = optax.sgd(0.05)
        alone = whole(train(name, **batch))
        together = train(name, mesh=meshes[mesh], shard=shard, **batch)
        spread = {len(leaf.sharding.device_set) for leaf in jax.tree.leaves(eqx.filter(together.model, eqx.is_array))}
        gap = max(np.max(np.abs(a - b)) for a, b in zip(whole(together), alone, strict=True))
        print(name, spread == ({count} if processes == 1 else {1}), float(gap) < 1e-10, flush=True)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
