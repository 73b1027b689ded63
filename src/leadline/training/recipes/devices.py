"""Which devices a recipe is trained on: one, all of this process, or those of a cluster, as the environment says."""

import os

import jax
from jax.sharding import Mesh

DEVICES, SHARD = "LEADLINE_DEVICES", "LEADLINE_SHARD"
PROCESSES, PROCESS = "LEADLINE_PROCESSES", "LEADLINE_PROCESS"
_CHOICES = ("one", "all", "cluster")


def join_cluster() -> bool:
    """Meet the other processes of a cluster, if LEADLINE_DEVICES says so; whether this is the one that writes files.

    What JAX does not know from the cluster itself (Slurm, Open MPI, Kubernetes, TPU pods) stands in
    JAX_COORDINATOR_ADDRESS (host:port of the first process), LEADLINE_PROCESSES (how many there are) and
    LEADLINE_PROCESS (which one this is, from 0). It must come before anything is computed.
    """
    if _chosen() == "cluster" and not jax.distributed.is_initialized():
        try:
            jax.distributed.initialize(num_processes=_number(PROCESSES), process_id=_number(PROCESS))
        except (RuntimeError, ValueError) as error:
            reason = str(error).strip().splitlines()[0]
            raise ValueError(
                f"The processes of the cluster did not meet ({reason}); set JAX_COORDINATOR_ADDRESS, {PROCESSES} and "
                f"{PROCESS} as the README says."
            ) from error
    return _chosen() != "cluster" or jax.process_index() == 0


def mesh_from_environment() -> Mesh | None:
    """A mesh of one axis over all devices with LEADLINE_DEVICES=all or =cluster; None for a single device.

    >>> mesh_from_environment() is None
    True
    """
    return None if _chosen() == "one" else jax.make_mesh((len(jax.devices()),), ("rows",))


def shard_from_environment() -> bool:
    """Whether LEADLINE_SHARD=1 asks for parameters in parts."""
    return os.environ.get(SHARD, "") == "1"


def _chosen() -> str:
    chosen = os.environ.get(DEVICES) or "one"
    if chosen not in _CHOICES:
        raise ValueError(f"{DEVICES} is {chosen!r}; choose one of {', '.join(_CHOICES)}.")
    return chosen


def _number(name: str) -> int | None:
    text = os.environ.get(name)
    if text is not None and not text.isdigit():
        raise ValueError(f"{name} is {text!r}; give a whole number.")
    return None if text is None else int(text)
