"""Batch statistics against buffers: under a shift of the inputs, and in fine-tuning."""

import operator

import equinox as eqx
import jax
import numpy as np

from leadline import regularisation
from leadline.claims.scenarios.regularisation.normalised_digits import (
    accuracy,
    conv_maker,
    dense_maker,
    digit_part,
    logits,
    recalibrated,
    trained,
)
from leadline.claims.scenarios.regularisation.paired_findings import paired_excess
from leadline.evidence import Int, Real, at_least, claim, exactly, instrument
from leadline.presentation import figure

MISHANDLED = ("source's buffers", "training mode, 2 at a time", "batches of 2")


@instrument(sources=("penn",), empirical=True, shows=("regularisation.mode_gap", "regularisation.recalibrate"))
def batch_norm_train_eval_gap(key, brightness: Real(0.2, 0.5) = 0.3, seeds: Int(4, 10) = 6):
    r"""The gap between training and evaluation of batch normalisation.

    The same inputs give other outputs by batch statistics than by buffers; the distance falls with the size of the
    batch as long as the inputs are those of training. On brighter inputs the buffers are wrong and accuracy falls;
    statistics estimated on these inputs, without labels, give most of it back.

    $$\mathrm{gap}(B) = \frac{\|f(x; \mu_B, \sigma_B) - f(x; \hat\mu, \hat\sigma)\|}{\|f(x; \hat\mu, \hat\sigma)\|},
    \qquad \text{restored} = \frac{A_{\mathrm{new}} - A_{\mathrm{shifted}}}{A - A_{\mathrm{shifted}}}$$

    Assumes: the shift of the inputs leaves the labels as they are.

    Check: Convolutional networks with 8 and 16 channels on 400 digits; 500 test digits with `brightness` added to every
    pixel. Accuracy falls, and at least 0.8 of the loss is restored, in the mean over seeds.
    """
    part = digit_part(400, images=True)
    nets, states, _ = trained(key, conv_maker("batch"), part, seeds=seeds, num_steps=300)
    states = recalibrated(nets, states, part.x)
    sizes = (4, 16, 64, 256)
    gaps = np.stack([np.asarray(_distances(nets, states, part.test_x, size)) for size in sizes], axis=1)
    falls = gaps[:, 0] - gaps[:, -1]
    what = "distance of outputs by batch statistics and by buffers: batches of 4 less batches of 256, each network"
    yield at_least(falls, 0.0, what, strict=True).as_empirical()
    shifts = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5])
    clean = accuracy(logits(nets, states, part.test_x), part.test_y)
    by_buffers, anew = [], []
    for shift in (*shifts, brightness):
        x = part.test_x + shift
        by_buffers.append(accuracy(logits(nets, states, x), part.test_y))
        anew.append(accuracy(logits(nets, recalibrated(nets, states, x), x), part.test_y))
    fallen = clean - by_buffers[-1]
    what = f"accuracy lost at brightness +{brightness:.2g} by buffers, each network: above 0"
    yield at_least(fallen, 0.0, what, strict=True).as_empirical()
    restored = (anew[-1] - by_buffers[-1]) / np.maximum(fallen, 1e-3)
    what = (
        f"share of the accuracy lost at brightness +{brightness:.2g} that statistics of these inputs restore, less 0.8"
    )
    yield paired_excess(restored, np.full(seeds, 0.8), what)
    points = {
        "buffers of training": (shifts, np.mean(by_buffers[:-1], axis=1)),
        "estimated anew": (shifts, np.mean(anew[:-1], axis=1)),
    }
    title = (
        f"Brightness +{brightness:.2g} costs {fallen.mean():.2f} of accuracy; new statistics restore "
        f"{restored.mean():.0%} of that"
    )
    first = figure.curves("test accuracy", "brightness added", "mean accuracy", points=points)
    distances = {"mean over networks": (np.array(sizes), gaps.mean(axis=0))}
    second = figure.curves("inputs as in training", "batch size", "distance of outputs", log="xy", points=distances)
    yield figure.beside(title, first, second)


@eqx.filter_jit
def _distances(nets, states, x, size):
    return eqx.filter_vmap(lambda net, state: regularisation.mode_gap(net, state, x, batch=size).distance)(nets, states)


@claim(sources=("penn",), empirical=True, shows=("regularisation.recalibrate", "regularisation.audit_modes"))
def batch_norm_in_transfer(key, seeds: Int(4, 10) = 6, num_steps: Int(60, 200) = 120):
    r"""Batch normalisation in fine-tuning.

    A network is fine-tuned on few images of another domain. With the source's buffers kept, with the evaluation mode
    forgotten, or in tiny batches, its error on new images can be several times that of the same fine-tuning in larger
    batches with buffers recalibrated: mishandled batch normalisation, not the weights, then decides. The auditor of
    modes names what was done each time, and nothing where it was done well.

    $$\text{error(treatment)} - \text{error(buffers recalibrated)} > 0, \text{ paired}$$

    Assumes: inputs of both domains have the same labels.

    Check: Dense networks of 400 digits, fine-tuned on 100 inverted digits (1 − x); 500 inverted test digits.
    Treatments: fine-tuned in batches of 25 and evaluated by the SOURCE's buffers; evaluated in training mode, two
    images at a time; fine-tuned in batches of 2, as many steps, and recalibrated; and as it should be, batches of 25
    and buffers recalibrated. Every network of every treatment is audited.
    """
    source = digit_part(400)
    nets, states, _ = trained(key, dense_maker(normalisation="batch"), source, seeds=seeds, num_steps=300)
    part = source._replace(x=1 - source.x[:100], y=source.y[:100], test_x=1 - source.test_x)
    key_tuned, key_tiny = jax.random.split(key)
    options = {"seeds": seeds, "num_steps": num_steps, "starts": (nets, states)}
    tuned, after, _ = trained(key_tuned, None, part, batch=25, **options)
    tiny, tiny_after, _ = trained(key_tiny, None, part, batch=2, **options)
    right, tiny_right = recalibrated(tuned, after, part.x), recalibrated(tiny, tiny_after, part.x)
    errors = {
        "no fine-tuning": 1 - accuracy(logits(nets, states, part.test_x), part.test_y),
        "source's buffers": 1 - accuracy(logits(tuned, states, part.test_x), part.test_y),
        "training mode, 2 at a time": 1 - accuracy(_by_pairs(tuned, right, part.test_x), part.test_y),
        "batches of 2": 1 - accuracy(logits(tiny, tiny_right, part.test_x), part.test_y),
        "recalibrated": 1 - accuracy(logits(tuned, right, part.test_x), part.test_y),
    }
    best = errors["recalibrated"]
    for name in MISHANDLED:
        yield paired_excess(errors[name], best, f"{name}: error less that with recalibrated buffers")
    in_use = eqx.nn.inference_mode
    new = part.x, part.test_x
    causes = {
        "no fine-tuning": ("domain shift", _named((in_use(nets), states), source.x, part.x, 32)),
        "source's buffers": ("stale statistics", _named((in_use(tuned), states), *new, 25)),
        "training mode, 2 at a time": ("batch statistics left on", _named((tuned, right), *new, 25)),
        "batches of 2": ("tiny batch", _named((in_use(tiny), tiny_right), *new, 2)),
        "recalibrated": ("nothing", _named((in_use(tuned), right), *new, 25)),
    }
    for name, (cause, found) in causes.items():
        yield exactly(found, [cause] * seeds, f"{name}: what the auditor names in each network, and what was done")
    points = {
        "error": {
            name: (float(v.mean()), float(v.mean() - _two(v)), float(v.mean() + _two(v))) for name, v in errors.items()
        }
    }
    worst = max(MISHANDLED, key=lambda name: errors[name].mean())
    title = (
        f"The same fine-tuning errs on {best.mean():.0%} with recalibrated buffers and on {errors[worst].mean():.0%} "
        f"with {worst}; the auditor names each"
    )
    yield figure.categories(title, "treatment", "error on new images, ± 2 standard errors", points=points)


def _named(stack, inputs, new_inputs, batch: int) -> list[str]:
    """What the auditor names in each network of a stack of networks and states."""
    arrays, rest = eqx.partition(stack, eqx.is_array)
    each = [jax.tree.map(operator.itemgetter(i), arrays) for i in range(len(jax.tree.leaves(arrays)[0]))]
    rows = np.asarray(inputs), np.asarray(new_inputs)
    audits = [regularisation.audit_modes(eqx.combine(one, rest), *rows, batch=batch) for one in each]
    return ["; ".join(fault.cause for fault in audit.faults) or "nothing" for audit in audits]


def _two(values):
    return 2 * values.std(ddof=1) / np.sqrt(len(values))


@eqx.filter_jit
def _by_pairs(nets, states, x):
    return eqx.filter_vmap(lambda net, state: regularisation.mode_gap(net, state, x, batch=2).by_batch)(nets, states)
