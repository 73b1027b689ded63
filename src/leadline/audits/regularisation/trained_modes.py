"""The auditor of modes on every network that was trained, as it is used and as training leaves it."""

from collections.abc import Iterator

import equinox as eqx
import numpy as np
from jaxtyping import Num

from leadline.evidence import Comparison, exactly
from leadline.regularisation import audit_modes
from leadline.regularisation.arms.arm_training import TrainedArm

LEFT_ON = {"dropout": "dropout left on", "batch normalisation": "batch statistics left on"}


def trained_modes(
    arms: dict[str, TrainedArm], inputs: Num[np.ndarray, "n ..."], new_inputs: Num[np.ndarray, "m ..."]
) -> Iterator[Comparison]:
    """In use nothing is named in any network; of those with modes, one that is left as in training is found out.

    The arms' networks take `inputs` as they are: they were trained on rows like these, and meet `new_inputs` in use.
    """
    count, faulty = 0, []
    for name, arm in arms.items():
        for network, state in arm.networks():
            count += 1
            audit = audit_modes((eqx.nn.inference_mode(network), state), inputs, new_inputs)
            faulty += [f"{name}: {fault.cause}" for fault in audit.faults]
    yield exactly(
        "; ".join(faulty) or "nothing", "nothing", f"what the auditor of modes names in {count} trained networks"
    )
    for name, arm in arms.items():
        left = audit_modes(next(arm.networks()), inputs)
        if left.layers:
            expected = LEFT_ON[left.layers[0].kind]
            yield exactly(left.cause, expected, f"{name}: what it names where one is not switched to use")
