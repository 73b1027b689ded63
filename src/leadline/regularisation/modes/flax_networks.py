"""Flax networks as the auditor asks them: NNX modules hold their modes, Linen modules are told them at every call."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from leadline.frameworks.checks import Refused, inference_options, kind_of, takes

from .modal_networks import BATCH_NORM, DROPOUT, ModalLayer, ModalNetwork, Mode, Pass, Statistics, batch_statistics


class NnxNetwork(ModalNetwork):
    """A module of Flax NNX; the flags are `deterministic` of dropout and `use_running_average` of batch norm."""

    def __init__(self, network: Any):
        self.network = network
        self.layers = tuple(
            ModalLayer(name, kind, not getattr(module, flag))
            for name, (module, kind, flag) in _modal(network).items()
            if kind == BATCH_NORM or module.rate != 0
        )

    def in_use(self) -> "NnxNetwork":
        from flax import nnx

        copy = nnx.clone(self.network)
        copy.eval()
        return NnxNetwork(copy)

    def run(self, inputs: np.ndarray, mode: Mode, draw: int = 0, without: tuple[str, ...] = ()) -> Pass:
        from flax import nnx

        copy = nnx.clone(self.network)
        if mode != "given":
            (copy.eval if mode == "use" else copy.train)()
        nnx.reseed(copy, default=draw, dropout=draw)
        modules = _modal(copy)
        for name in without:
            modules[name][0].rate = 0.0
        options: dict[str, Any] = {
            n: flag == (mode != "training") for n, flag in inference_options(copy.__call__).items()
        }
        if takes(copy.__call__, "rngs"):
            options["rngs"] = nnx.Rngs(draw)
        before = {name: _of_nnx(module) for name, (module, kind, _) in modules.items() if kind == BATCH_NORM}
        outputs = np.asarray(copy(jnp.asarray(inputs), **options))
        return Pass(
            outputs,
            {
                name: batch_statistics(b, _of_nnx(modules[name][0]), modules[name][0].momentum)
                for name, b in before.items()
            },
        )

    def running(self) -> dict[str, Statistics]:
        return {n: _of_nnx(module) for n, (module, kind, _) in _modal(self.network).items() if kind == BATCH_NORM}


def _modal(network: Any) -> dict[str, tuple[Any, str, str]]:
    """The modal modules by their places, with their kind and the name of their flag."""
    from flax import nnx

    found = {}
    for path, module in nnx.iter_modules(network):
        name = ".".join(map(str, path))
        if isinstance(module, nnx.BatchNorm):
            found[name] = (module, BATCH_NORM, "use_running_average")
        elif isinstance(module, nnx.Dropout):
            found[name] = (module, DROPOUT, "deterministic")
    return dict(sorted(found.items()))


def _of_nnx(module: Any) -> Statistics:
    return Statistics(np.asarray(module.mean[...], float), np.asarray(module.var[...], float))


class LinenNetwork(ModalNetwork):
    """A module of Flax Linen with its variables; what its layers are told is seen by intercepting their calls."""

    def __init__(self, network: Any, variables: Any):
        if variables is None and network.scope is not None:
            network, variables = network.unbind()
        if variables is None:
            raise Refused(f"The network, {kind_of(network)}, has no variables; give the pair (module, variables).")
        self.network, self.variables = network, variables
        self.options = inference_options(network.__call__)
        self.layers: tuple[ModalLayer, ...] = ()
        self.momenta: dict[str, float] = {}

    def in_use(self) -> "LinenNetwork":
        return self

    def run(self, inputs: np.ndarray, mode: Mode, draw: int = 0, without: tuple[str, ...] = ()) -> Pass:
        from flax import linen

        seen: dict[str, ModalLayer] = {}

        def watch(call: Any, args: Any, kwargs: dict, context: Any) -> Any:
            module, name = context.module, ".".join(context.module.path)
            if context.method_name == "__call__" and isinstance(module, linen.Dropout) and module.rate:
                flag = kwargs.get("deterministic", args[1] if len(args) > 1 else module.deterministic)
                seen[name] = ModalLayer(name, DROPOUT, not flag)
                if name in without:
                    return args[0]
            if context.method_name == "__call__" and isinstance(module, linen.BatchNorm):
                flag = kwargs.get("use_running_average", args[1] if len(args) > 1 else None)
                flag = module.use_running_average if flag is None else flag
                seen[name], self.momenta[name] = ModalLayer(name, BATCH_NORM, not flag), module.momentum
            return call(*args, **kwargs)

        options = {name: flag == (mode != "training") for name, flag in self.options.items()}
        with linen.intercept_methods(watch):
            outputs, changed = self.network.apply(
                self.variables,
                jnp.asarray(inputs),
                **options,
                rngs={"dropout": jax.random.key(draw)},
                mutable=["batch_stats"],
            )
        if mode != "training":
            self.layers = tuple(seen.values())
        after = _of_linen({"batch_stats": changed.get("batch_stats", {})})
        batch = {n: batch_statistics(old, after[n], self.momenta[n]) for n, old in self.running().items() if n in after}
        return Pass(np.asarray(outputs), batch)

    def running(self) -> dict[str, Statistics]:
        return _of_linen(self.variables)


def _of_linen(variables: Any) -> dict[str, Statistics]:
    from flax.traverse_util import flatten_dict

    flat = flatten_dict(dict(variables).get("batch_stats", {}), sep=".")
    names = [name.rpartition(".")[0] for name in flat if name.endswith("mean")]
    mean, variance = (
        {n: np.asarray(flat[f"{n}.{part}".lstrip(".")], float) for n in names} for part in ("mean", "var")
    )
    return {name: Statistics(mean[name], variance[name]) for name in names}
