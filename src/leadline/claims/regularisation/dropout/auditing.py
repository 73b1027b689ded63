"""The auditor of modes on a network with one known mistake at a time."""

import numpy as np

from leadline import networks, regularisation
from leadline.claims.scenarios.regularisation.mode_faults import seeded_faults
from leadline.evidence import Int, Real, at_least, close, exactly, instrument
from leadline.presentation import figure


@instrument(sources=("penn",), shows=("regularisation.audit_modes",))
def train_eval_audit(key, width: Int(8, 64) = 16, rate: Real(0.1, 0.5) = 0.2):
    r"""What is wrong between training and use.

    Dropout and batch normalisation compute something else in training than in use. From the network alone, run twice as
    it is used, in training, and row by row, with its running statistics beside those of its inputs, the auditor names
    the cause: dropout left on, a mode forgotten in one branch, stale statistics, a wrong axis, frozen buffers, a tiny
    batch, or inputs that have shifted. On a network that works it names nothing.

    $$\frac{|\mu_r - \mu|}{\sigma} > \frac12 \quad\text{or}\quad \frac{\sigma_r^2}{\sigma^2} \notin [\tfrac12, 2]
    \quad\text{for a quarter of the features}$$

    Assumes: a few hundred training inputs are at hand; new inputs and the size of a batch, where their causes are to be
    named.

    Check: one known mistake at a time is put into a trained network with two normalisations and dropout; the names
    that the auditor gives are those of the mistakes, and a network without modes has no layers to name.
    """
    cases = seeded_faults(width, rate, key)
    found = {name: regularisation.audit_modes(*case[:3], batch=case.batch) for name, (_, case) in cases.items()}
    named = ["; ".join(fault.cause for fault in audit.faults) or "nothing" for audit in found.values()]
    yield exactly(
        named, [cause or "nothing" for cause, _ in cases.values()], "causes that the auditor names, mistakes put in"
    )
    clean = found["as trained"]
    yield close(clean.repeat, 0.0, "difference of two passes in use, relative", atol=1e-12)
    yield close(clean.alone, 0.0, "difference of a row alone and in its batch, relative", atol=1e-3)
    yield at_least(clean.gap, 0.05, "difference of training and use, relative: the modes do differ")
    plain = regularisation.audit_modes(networks.MLP((6, 8, 2), key=key), cases["as trained"][1].inputs)
    yield exactly(len(plain.layers) + len(plain.faults), 0, "layers and faults of a network without modes")
    kinds = [layer.kind for layer in clean.layers]
    short = {"dropout": "drop", "batch normalisation": "BN"}
    layers = {
        layer.name: f"{short[layer.kind]} {kinds[: place + 1].count(layer.kind)}"
        for place, layer in enumerate(clean.layers)
    }
    wrong = np.array([[_named(audit, layer) for layer in layers] for audit in found.values()], float)
    right = sum(name == cause for name, (cause, _) in zip(named, cases.values(), strict=True))
    mistakes = sum(cause != "" for cause, _ in cases.values())
    yield figure.heatmap(
        f"The auditor names {right} of {mistakes} mistakes rightly, {named[0]} as trained; 1 marks the layers named",
        "layer",
        "what was done to the network",
        values=wrong,
        xs=list(layers.values()),
        ys=list(cases),
        colour="named",
        text=True,
    )


def _named(audit: regularisation.ModeAudit, layer: str) -> bool:
    """Whether a fault names the layer; one that names none is about all of them."""
    return any(layer in fault.layers or not fault.layers for fault in audit.faults)
