"""PyTorch networks that have no such form: each with a sentence that says what was seen and what to do."""

from collections.abc import Mapping
from typing import Any

from ..checks import Refused, kind_of, refuse_more, required_arguments

_RANDOM = (
    "alpha_dropout",
    "bernoulli",
    "exponential",
    "feature_dropout",
    "multinomial",
    "native_dropout",
    "normal",
    "normal_functional",
    "poisson",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "uniform",
)
_BATCH_STATISTICS = ("_native_batch_norm_legit", "_native_batch_norm_legit_functional", "native_batch_norm")
IN_JAX = "give its forward pass as a function of JAX arrays with its parameters, (f, params)"


def check_module(network: Any) -> None:
    """A module in Python, whose parameters are real floating-point arrays of at least single precision, here."""
    import torch

    if isinstance(network, torch.jit.ScriptModule):
        raise Refused(
            f"The network, {kind_of(network)}, is compiled by TorchScript, which torch.export does not read; give the "
            "Python module that it was made of with its weights, (module, scripted.state_dict())."
        )
    if not isinstance(network, torch.nn.Module):
        what = "a tensor" if isinstance(network, torch.Tensor) else kind_of(network)
        raise Refused(f"The model is {what} of PyTorch, not a network; give a torch.nn.Module.")
    for name, tensor in (*network.named_parameters(), *network.named_buffers()):
        _check_tensor(name, tensor)
    if not any(p.dtype.is_floating_point for p in network.parameters()):
        raise Refused(f"The network, {kind_of(network)}, has no floating-point parameters; give one that has some.")
    try:
        wanted = required_arguments(network.forward)
    except (TypeError, ValueError):  # a forward pass without a signature
        return
    refuse_more(network, wanted[1:])


def _check_tensor(name: str, tensor: Any) -> None:
    import torch

    if torch.nn.parameter.is_lazy(tensor):
        raise Refused(f"{name} of the PyTorch network has no shape yet; call the network once with a batch first.")
    if tensor.device.type != "cpu":
        how = "give a network that has values" if tensor.device.type == "meta" else "call .cpu() on it first"
        raise Refused(f"{name} of the PyTorch network is on the device {tensor.device}; {how}.")
    if tensor.layout != torch.strided or tensor.is_quantized:
        kind = "quantised" if tensor.is_quantized else "sparse"
        raise Refused(f"{name} of the PyTorch network is {kind}; give a network with plain dense arrays.")
    if tensor.dtype.is_complex:
        raise Refused(
            f"{name} of the PyTorch network is {tensor.dtype}; complex networks are not taken: keep real and imaginary "
            "parts as two parameters."
        )
    if tensor.dtype.is_floating_point and tensor.element_size() < 4:
        raise Refused(
            f"{name} of the PyTorch network is {tensor.dtype}, half precision; call .float() on the network first."
        )


def check_operation(node: Any, name: str) -> None:
    """Refuse what is random, or looks at other rows of the batch, in a network that is in evaluation mode."""
    alone = name.split(".")[0]
    arguments = dict(zip(_parameter_names(node), node.args, strict=False)) | dict(node.kwargs)
    noisy = alone in _RANDOM or (alone == "dropout" and arguments.get("train"))
    noisy = noisy or (alone == "scaled_dot_product_attention" and arguments.get("dropout_p"))
    noisy = noisy or ("rrelu" in alone and arguments.get("training"))
    noisy = noisy or (arguments.get("train") and arguments.get("dropout"))  # between recurrent layers
    if noisy:
        raise Refused(
            f"The PyTorch network is random in evaluation mode too: {alone} in {layer_of(node)}; make it depend on "
            "self.training (F.dropout(x, p, self.training))."
        )
    if alone in _BATCH_STATISTICS or (alone == "batch_norm" and arguments.get("training")):
        raise Refused(
            f"The PyTorch network normalises by the statistics of the batch, in {layer_of(node)}, so that a row's "
            "outputs depend on the other rows; keep running statistics (track_running_stats=True), or use group norm."
        )


def _parameter_names(node: Any) -> list[str]:
    schema = getattr(node.target, "_schema", None)
    return [] if schema is None else [argument.name for argument in schema.arguments]


def layer_of(node: Any) -> str:
    """`features.3 (BatchNorm2d)`: the innermost module that a node comes from."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    if not stack:
        return "the network's forward"
    name, kind = stack[-1][:2]
    kind = kind if isinstance(kind, str) else kind.__name__
    kind = kind.rsplit(".", 1)[-1]
    return f"{name} ({kind})" if name else f"the forward of {kind}"


def refuse_unknown(unknown: Mapping[str, str]) -> None:
    if unknown:
        listed = ", ".join(f"{name.removesuffix('.default')} in {layer}" for name, layer in unknown.items())
        raise Refused(
            f"The PyTorch network has operations that are not known here: {listed}; put others in their place, or "
            f"{IN_JAX}."
        )


def refuse_changes(names: list[str]) -> None:
    if names:
        raise Refused(
            f"The PyTorch network changes {', '.join(names)} at every call, so that it is no function of its inputs; "
            "let it do so only in training mode."
        )


def refuse_example(network: Any, example: Any, error: Exception) -> ValueError:
    return ValueError(
        f"The network, {kind_of(network)}, does not take the example, of shape {tuple(example.shape)} and type "
        f"{str(example.dtype).removeprefix('torch.')}: {first_line(error)}; give a batch of inputs as it takes them."
    )


def refuse_export(network: Any, error: Exception) -> Refused:
    words = f"{type(error).__name__} {error}"
    depends = "data-dependent" in words.lower() or "DataDependent" in words or "control flow" in words.lower()
    if depends:
        return Refused(
            f"The forward pass of {kind_of(network)} branches on values that it computes (data-dependent control "
            f"flow); write both sides with torch.where, or {IN_JAX}."
        )
    return Refused(
        f"torch.export cannot read the forward pass of {kind_of(network)} ({first_line(error)}); write it with "
        f"operations on tensors alone, or {IN_JAX}."
    )


def first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__).rstrip(".;:")
