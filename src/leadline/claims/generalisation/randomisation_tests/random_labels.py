"""The randomisation tests: the same network fits true labels, random labels, shuffled pixels and noise."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import optax

from leadline import data, generalisation
from leadline.evidence import Int, OneOf, at_most, claim, exactly, frequency, mean, method
from leadline.presentation import figure


def relu_network(rng, *widths):
    """He's start of a ReLU network in single precision."""
    weights = [rng.normal(size=pair) * np.sqrt(2 / pair[0]) for pair in pairwise(widths)]
    return tuple((jnp.asarray(w, jnp.float32), jnp.zeros(w.shape[1], jnp.float32)) for w in weights)


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


@method(sources=("eth", "sheet"), shows=("generalisation.corrupted",), empirical=True)
def randomisation_test(
    key, images: OneOf(150, 200, 400, 1200) = 200, hidden: OneOf(256, 512) = 256, epochs: Int(150, 200) = 150
):
    r"""Randomisation test with corrupted labels.

    Train the same network from the same start and with the same budget on true labels, on a share q of random labels,
    on permuted pixels and on Gaussian images. An over-parametrised network reaches training error 0 in every arm; its
    test error rises with q to chance level.

    $$\hat R_q = 0 \text{ for all } q, \quad R_q \uparrow 0.9$$

    Assumes: the network has many more parameters than there are training labels.

    Check: A 64-`hidden`-10 network is trained by Adam at 0.005 in batches of 200. The full size is `images` = 1200 and
    `hidden` = 512.
    """
    rng = data.generator(key)
    x, y, test, truth = shuffled_digits(rng, images)
    start, options = relu_network(rng, 64, hidden, 10), {"epochs": epochs, "batch": 200, "optimiser": optax.adam(5e-3)}
    arms = generalisation.randomisation_test(outputs, start, x, y, test, truth, key=key, **options)
    named = {arm.name: arm for arm in arms}
    trained = [arm.train_error for arm in arms]
    yield exactly(trained, 0.0, "training error, in every arm")
    shares = np.array([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    errors = np.array([arm.test_error for arm in arms[:6]])
    yield at_most(errors[:-2], errors[2:], "test error at q and at q + 0.4: it rises", strict=True)
    right = round(500 * (1 - named["true labels"].test_error))
    yield frequency(right, 500, 0.85, "test accuracy with true labels, at least 0.85", side="at least")
    for name in ("random labels", "Gaussian images"):
        arm = named[name]
        copies = np.full(2, 1 - arm.test_error)  # one network; its spread over names of classes is exact
        yield mean(copies, 0.1, f"test accuracy, {name}: chance", deviation=np.sqrt(2) * arm.chance_deviation)
    worse = named["one permutation"].test_error - named["true labels"].test_error
    what = "one permutation of the pixels, true labels: excess test error within sampling (3.3 deviations)"
    yield at_most(worse, 3.3 * np.sqrt(2 * 0.15 * 0.85 / 500), what)
    slow = named["random labels"].steps_to_zero / named["true labels"].steps_to_zero
    shown = ("true labels", "random labels", "one permutation", "fresh permutations", "Gaussian images")
    losses = {name: (1 + np.arange(epochs), named[name].losses) for name in shown}
    lines, points = {"0.9 q": (shares, 0.9 * shares)}, {"test": (shares, errors), "training": (shares, trained[:6])}
    q = "share q of random labels"
    yield figure.beside(
        f"Training error 0 in all {len(arms)} arms; test error {errors[0]:.2f} with true labels, {errors[-1]:.2f} with "
        f"random ones, after {slow:.1f} times the steps",
        figure.curves(f"Errors against the {q}", q, "error", lines=lines, points=points),
        figure.curves("Training loss by arm", "epochs", "mean cross-entropy", lines=losses, log="y"),
    )


@claim(sources=("eth", "sheet"), empirical=True)
def memorisation_without_generalisation(
    key,
    seeds: Int(2, 5) = 2,
    images: OneOf(800, 1000, 1200) = 800,
    hidden: OneOf(256, 384) = 256,
    epochs: Int(60, 100) = 60,
):
    r"""Memorising random labels without generalising.

    The same network fits true and random labels of the same digits without a single training error; its test accuracy
    is above 0.95 in the first case and at chance level in the second. Training error alone says nothing about new
    data.

    $$\hat R = 0 \text{ twice}, \quad R_{\mathrm{true}} < 0.05, \quad R_{\mathrm{random}} \approx 0.9$$

    Assumes: the network has many more parameters than there are training labels.

    Check: A network with two hidden layers of `hidden` units (64-`hidden`-`hidden`-10) is trained by Adam at 0.002 in
    batches of 100. Each seed draws random labels and batches anew.
    """
    rng = data.generator(key)
    x, y, test, truth = shuffled_digits(rng, images)
    start, names = relu_network(rng, 64, hidden, hidden, 10), ("true labels", "random labels") * seeds
    options = {"arms": names, "epochs": epochs, "batch": 100, "optimiser": optax.adam(2e-3)}
    arms = generalisation.randomisation_test(outputs, start, x, y, test, truth, key=key, **options)
    true, random = arms[::2], arms[1::2]
    fitted = [[arm.train_error for arm in runs] for runs in (true, random)]
    yield exactly(fitted[0], 0.0, "training error with true labels")
    yield exactly(fitted[1], 0.0, "training error with random labels")
    right = [round(500 * (1 - arm.test_error)) for arm in true]
    yield frequency(right, 500, 0.95, "test accuracy with true labels, at least 0.95", side="at least")
    accuracy = [1 - arm.test_error for arm in random]
    spread = float(np.sqrt(np.mean([arm.chance_deviation**2 for arm in random])))
    yield mean(accuracy, 0.1, "test accuracy with random labels: chance", deviation=spread)
    yield exactly(np.sum(random[0].confusion), 500, "test digits counted in the confusion matrix")
    tested = np.mean(right) / 500, np.mean(accuracy)
    values = {"training": {"true": 1 - np.mean(fitted[0]), "random": 1 - np.mean(fitted[1])}}
    values["test"] = {"true": tested[0], "random": tested[1]}
    title = f"Training accuracy 1 both times; on new digits {tested[0]:.3f} and {tested[1]:.3f} ({seeds} seeds)"
    yield figure.bars(title, "labels", "accuracy", values=values, rules={"chance": ("y", 0.1)})
