"""The randomisation tests: the same network fits true labels, random labels, shuffled pixels and noise."""

from itertools import pairwise
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, generalisation
from leadline.evidence import Choice, Range, at_most, claim, close, exactly, figure, frequency, mean, method


def relu_network(rng, *widths):
    """He's start of a ReLU network in single precision."""
    pairs = pairwise(widths)
    return tuple(
        (jnp.asarray(rng.normal(size=p) * np.sqrt(2 / p[0]), jnp.float32), jnp.zeros(p[1], jnp.float32)) for p in pairs
    )


def outputs(params, inputs):
    """The scores of a batch."""
    for weight, bias in params[:-1]:
        inputs = jax.nn.relu(inputs @ weight + bias)
    weight, bias = params[-1]
    return inputs @ weight + bias


def shuffled_digits(rng, images):
    """`images` digits for training and 500 others for testing, pixels centred and scaled by constants."""
    x, y = data.digits()
    order = rng.permutation(len(y))
    x, y = ((x[order] - 0.3) / 0.4).astype(np.float32), y[order].astype(np.int32)
    return x[:images], y[:images], x[-500:], y[-500:]


@method(
    "randomisation-test",
    says=(
        "Train the same network from the same start and with the same budget on true labels, on a share q of random "
        "labels, on permuted pixels and on Gaussian images. An over-parametrised network reaches training error 0 in "
        "every arm; its test error rises with q to chance."
    ),
    formula=r"\hat R_q = 0 \text{ for all } q, \quad R_q \uparrow 0.9",
    sources=("eth", "sheet"),
    assumes=("the network has many more parameters than there are training labels",),
    shows=("generalisation.randomisation_test", "generalisation.corrupted"),
    empirical=True,
)
def randomisation_test(
    key,
    images: Annotated[int, Choice(150, 200, 400, 1200)] = 200,
    hidden: Annotated[int, Choice(256, 512)] = 256,
    epochs: Annotated[int, Range(150, 200)] = 150,
):
    """A network 64-hidden-10, Adam at 0.005, batches of 200; full size: images = 1200, hidden = 512."""
    rng = data.generator(key)
    x, y, test, truth = shuffled_digits(rng, images)
    arms = generalisation.randomisation_test(
        outputs, relu_network(rng, 64, hidden, 10), x, y, test, truth, epochs=epochs, batch=200,
        optimiser=optax.adam(5e-3), key=key,
    )  # fmt: skip
    named = {arm.name: arm for arm in arms}
    yield exactly([arm.train_error for arm in arms], 0.0, "training error, in every arm")
    shares = np.array([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    mixed = arms[:6]
    errors = np.array([arm.test_error for arm in mixed])
    yield at_most(errors[:-2], errors[2:], "test error at q and at q + 0.4: it rises", strict=True)
    right = round(500 * (1 - named["true labels"].test_error))
    yield frequency(right, 500, 0.85, "test accuracy with true labels, at least 0.85", side="at least")
    for name in ("random labels", "Gaussian images"):
        arm = named[name]
        copies = np.full(2, 1 - arm.test_error)  # one network; its spread over names of classes is exact
        yield mean(copies, 0.1, f"test accuracy, {name}: chance", deviation=np.sqrt(2) * arm.chance_deviation)
    yield at_most(
        named["one permutation"].test_error - named["true labels"].test_error,
        3.3 * np.sqrt(2 * 0.15 * 0.85 / 500),
        "one permutation of the pixels, true labels: excess test error within sampling (3.3 deviations)",
    )
    slow = named["random labels"].steps_to_zero / named["true labels"].steps_to_zero
    yield figure.beside(
        f"Training error 0 in all {len(arms)} arms; test error {errors[0]:.2f} with true labels, {errors[-1]:.2f} with "
        f"random ones, after {slow:.1f} times the steps",
        figure.curves(
            "Errors against the share q of random labels", x="share q of random labels", y="error",
            lines={"0.9 q": (shares, 0.9 * shares)},
            points={"test": (shares, errors), "training": (shares, [arm.train_error for arm in mixed])},
        ),
        figure.curves(
            "Training loss by arm", x="epochs", y="mean cross-entropy",
            lines={
                name: (1 + np.arange(epochs)[::3], named[name].losses[::3])
                for name in ("true labels", "random labels", "one permutation", "fresh permutations", "Gaussian images")
            },
            log="y",
        ),
    )  # fmt: skip


@claim(
    "memorisation-without-generalisation",
    says=(
        "The same network fits true and random labels of the same digits without a single training error; its test "
        "accuracy is above 0.95 in the first case and chance in the second. Training error alone says nothing of new "
        "data."
    ),
    formula=r"\hat R = 0 \text{ twice}, \quad R_{true} < 0.05, \quad R_{random} \approx 0.9",
    sources=("eth", "sheet"),
    assumes=("the network has many more parameters than there are training labels",),
    shows=("generalisation.randomisation_test",),
    empirical=True,
)
def memorisation_without_generalisation(
    key,
    seeds: Annotated[int, Range(2, 5)] = 2,
    images: Annotated[int, Choice(800, 1000, 1200)] = 800,
    hidden: Annotated[int, Choice(256, 384)] = 256,
    epochs: Annotated[int, Range(60, 100)] = 60,
):
    """A network 64-hidden-hidden-10, Adam at 0.002, batches of 100; each seed draws random labels and batches anew."""
    rng = data.generator(key)
    x, y, test, truth = shuffled_digits(rng, images)
    arms = generalisation.randomisation_test(
        outputs, relu_network(rng, 64, hidden, hidden, 10), x, y, test, truth,
        arms=("true labels", "random labels") * seeds, epochs=epochs, batch=100, optimiser=optax.adam(2e-3), key=key,
    )  # fmt: skip
    true, random = arms[::2], arms[1::2]
    yield exactly([arm.train_error for arm in true], 0.0, "training error with true labels")
    yield exactly([arm.train_error for arm in random], 0.0, "training error with random labels")
    right = [round(500 * (1 - arm.test_error)) for arm in true]
    yield frequency(right, 500, 0.95, "test accuracy with true labels, at least 0.95", side="at least")
    accuracy = [1 - arm.test_error for arm in random]
    spread = float(np.sqrt(np.mean([arm.chance_deviation**2 for arm in random])))
    yield mean(accuracy, 0.1, "test accuracy with random labels: chance", deviation=spread)
    yield close(np.sum(random[0].confusion), 500, "test digits counted", atol=0)
    yield figure.bars(
        f"Training accuracy 1 both times; on new digits {np.mean(right) / 500:.3f} and {np.mean(accuracy):.3f} "
        f"({seeds} seeds)",
        x="labels", y="accuracy",
        values={
            "training": {"true": 1 - np.mean([a.train_error for a in true]),
                         "random": 1 - np.mean([a.train_error for a in random])},
            "test": {"true": np.mean(right) / 500, "random": np.mean(accuracy)},
        },
        rules={"chance": ("y", 0.1)},
    )  # fmt: skip
