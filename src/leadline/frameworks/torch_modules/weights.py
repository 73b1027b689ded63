"""Weights of PyTorch networks: a state_dict or a file of one, put into an architecture; nothing is unpickled."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..checks import Refused, kind_of
from .exporting import copied
from .refusals import first_line

_WRAPPED = ("state_dict", "model_state_dict", "model_state", "model")  # where training scripts keep it in a checkpoint
_PREFIXES = ("module.", "_orig_mod.")  # of nn.DataParallel and of torch.compile
_NAMED = 3  # names that a sentence lists


def with_weights(module: Any, weights: Path | Mapping) -> Any:
    """A copy of the module with the weights of a state_dict, or of a file that holds one.

    A .safetensors file, or what torch.save wrote (.pt, .pth, .ckpt), which is read with weights_only=True. Names and
    shapes must be those of the module, buffers included; a checkpoint that holds it under "state_dict" will do, and
    names that nn.DataParallel or torch.compile have lengthened.
    """
    place = "the state_dict" if isinstance(weights, Mapping) else Path(weights).name
    found = _unwrapped(weights if isinstance(weights, Mapping) else read_weights(Path(weights)), place)
    network = copied(module)
    own = network.state_dict()
    found = _without_prefix(found, own)
    missing, strange = [n for n in own if n not in found], [n for n in found if n not in own]
    counts = [name for name in missing if name.endswith("num_batches_tracked")]  # which nothing reads
    missing = [name for name in missing if name not in counts]
    if missing or strange:
        parts = [f"lacks {_listed(missing)}"] * bool(missing) + [f"has {_listed(strange)} more"] * bool(strange)
        raise Refused(
            f"The weights in {place} are not those of {kind_of(module)}: it {' and '.join(parts)}; give the state_dict "
            "of this architecture."
        )
    for name, tensor in found.items():
        if tensor.shape != own[name].shape:
            raise Refused(
                f"{name} in {place} has shape {tuple(tensor.shape)}, and the network's has {tuple(own[name].shape)}; "
                "give the weights of this architecture."
            )
    network.load_state_dict(dict(found), strict=not counts)
    return network.train(module.training)


def read_weights(path: Path) -> Mapping[str, Any]:
    """The tensors of a .safetensors file, or of one that torch.save wrote."""
    import torch

    if not path.is_file():
        raise Refused(f"There is no file {path}; give a .safetensors, .pt or .pth file with a state_dict.")
    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            return load_file(path)
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise Refused(
            f"{path.name} cannot be read as weights ({first_line(error)}); save them with torch.save("
            "network.state_dict(), path) or as safetensors: nothing else is unpickled."
        ) from error
    if not isinstance(loaded, Mapping):
        raise Refused(f"{path.name} holds {kind_of(loaded)}, not a state_dict; save network.state_dict().")
    return loaded


def _unwrapped(found: Mapping[str, Any], place: str) -> dict[str, Any]:
    import torch

    for key in _WRAPPED:
        if isinstance(found.get(key), Mapping):
            found = found[key]
            break
    tensors = {str(n): torch.as_tensor(v) for n, v in found.items() if hasattr(v, "shape")}
    if not tensors or len(tensors) < len(found):
        raise Refused(
            f"{place[0].upper()}{place[1:]} is no state_dict of names and tensors; give network.state_dict(), or a "
            "file that holds it."
        )
    return tensors


def _without_prefix(found: dict[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    for prefix in _PREFIXES:
        if all(name.startswith(prefix) for name in found) and not any(name.startswith(prefix) for name in own):
            found = {name.removeprefix(prefix): tensor for name, tensor in found.items()}
    return found


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} others" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
