"""The perceptron at work: on permuted pixels, on punch cards, and on data that it cannot separate."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from leadline import convolution, data, networks
from leadline.evidence import Int, OneOf, Real, assume, at_least, at_most, claim, close, exactly
from leadline.linear_classifiers import margins, perceptrons
from leadline.linear_classifiers.perceptrons.cycling import find_cycle, sweep_states
from leadline.linear_classifiers.perceptrons.variants import path_errors
from leadline.networks.architectures.image_classifiers import permute_inputs, train_classifier
from leadline.presentation import figure


@claim(sources=("penn",), empirical=True)
def pixel_permutation_equivariance(
    key, images: OneOf("digits", "fashion-mnist") = "digits", target: Int(0, 9) = 8, hidden: Int(2, 64) = 16
):
    r"""Pixel permutations: dense versus convolutional networks.

    If the pixels of all images are permuted alike, the perceptron learns the permuted weights and makes the same
    predictions; so does a dense network whose first layer is permuted. A convolutional network does worse.

    $$x \to \Pi x \;\Rightarrow\; w \to \Pi w, \quad f(\Pi x; \Pi w) = f(x; w)$$

    Assumes: the same stream of examples; the dense network's first layer is permuted at initialisation.

    Check: The perceptron learns one class against the rest in 5 sweeps; the networks are trained by Adam on 300
    batches of 32, drawn from 400 digits. The drop of the convolutional network's test accuracy is taken over 5 seeds,
    each trained on images and on permuted images. Fashion-MNIST (3000 images, 150 batches for the convolutional
    network) takes about half a minute. How large the drop is depends on the setting, of which several were tried: with
    200 digits instead of 400, two of four seeds stayed below 2 standard errors.
    """
    train, labels, test, test_labels = _image_task(images, key)
    side, seeds, steps = train.shape[1], 5, 300 if images == "digits" else 150
    key_permutation, key_order, *keys = jax.random.split(key, 2 + seeds)
    permutation = jax.random.permutation(key_permutation, side * side)
    shuffled, test_shuffled = (a.reshape(len(a), -1)[:, permutation].reshape(a.shape) for a in (train, test))
    flat, flat_shuffled = (jnp.asarray(a.reshape(len(a), -1), float) for a in (train, shuffled))
    test_flat, test_flat_shuffled = (jnp.asarray(a.reshape(len(a), -1), float) for a in (test, test_shuffled))
    y = np.where(labels == target, 1.0, -1.0)
    runs = [
        perceptrons.learn(a, y, bias=True, order="permuted", epochs=5, key=key_order) for a in (flat, flat_shuffled)
    ]
    turned = runs[0].weights[permutation]
    yield close(runs[1].weights, turned, "perceptron weights on permuted pixels, against Πw", atol=1e-9)
    tests = (test_flat, test_flat_shuffled)
    predictions = [perceptrons.LinearThreshold(r.weights, r.bias)(a) for r, a in zip(runs, tests, strict=True)]
    yield exactly(predictions[1], predictions[0], "perceptron predictions on permuted test images, against plain ones")
    dense = eqx.nn.MLP(side * side, 10, hidden, 1, dtype=flat.dtype, key=keys[0])
    fit = eqx.filter_jit(train_classifier)
    starts = (dense, flat, test_flat), (permute_inputs(dense, permutation), flat_shuffled, test_flat_shuffled)
    for batches in (30, 300):
        plain, moved = scores = [
            jax.vmap(fit(net, a, labels, num_steps=batches, batch=32, key=keys[1]))(t) for net, a, t in starts
        ]
        scale = float(jnp.max(jnp.abs(plain)))
        what = f"dense network's test scores after {batches} batches, relative"
        yield close(moved / scale, plain / scale, what, atol=1e-5)

    @eqx.filter_jit
    def convolutional(key, train, test):
        key_net, key_batches = jax.random.split(key)
        layers = convolution.pyramid((8, 16), 10)
        net = convolution.ConvNetwork(layers, (1, side, side), channels_last=True, key=key_net)
        net = train_classifier(net, train, labels, num_steps=steps, batch=32, rate=3e-3, key=key_batches)
        return networks.accuracy(net, test, test_labels)

    sharp = np.array([convolutional(k, train, test) for k in keys], float)
    blind = np.array([convolutional(k, shuffled, test_shuffled) for k in keys], float)
    drop, error = np.mean(sharp - blind), np.std(sharp - blind, ddof=1) / np.sqrt(seeds)
    what = f"drop of the convolutional network's test accuracy, against 2 standard errors ({error:.2g})"
    yield at_least(drop, 2 * error, what, strict=True)
    wrong = [100 * float(np.mean(np.asarray(p) != np.where(test_labels == target, 1, -1))) for p in predictions]
    dense_wrong = [100 * float(jnp.mean(jnp.argmax(s, 1) != test_labels)) for s in scores]
    conv_wrong = [100 * float(np.mean(1 - a)) for a in (sharp, blind)]
    names, who = ("pixels in place", "pixels permuted"), (f"perceptron ({target})", "dense", "convolutional")
    pictures = [(name, run.weights.reshape(side, side)) for name, run in zip(names, runs, strict=True)]
    values = {
        name: dict(zip(who, shares, strict=True))
        for name, *shares in zip(names, wrong, dense_wrong, conv_wrong, strict=True)
    }
    title = f"Permuted pixels cost the convolutional network {100 * drop:.1f} ± {100 * error:.1f} points, others none"
    left = f"Perceptron weights, {target} against the rest"
    right = figure.bars(
        "Test error", "perceptron: one class; networks: all ten", "wrong test images in %", values=values
    )
    yield figure.beside(title, figure.images(left, images=pictures, columns=2, diverging=True), right)


def _image_task(images, key):
    """Training and test images (float32) with labels: few to train on, so that knowing the neighbours matters."""
    if images == "digits":
        pictures, labels = data.digits()
        pictures = pictures.reshape(-1, 8, 8)
        shuffle = np.asarray(jax.random.permutation(jax.random.fold_in(key, 0), len(labels)))
        pictures, labels = jnp.asarray(pictures[shuffle], jnp.float32), jnp.asarray(labels[shuffle])
        return pictures[:400], labels[:400], pictures[400:], labels[400:]
    try:
        fashion = data.load("fashion-mnist")
    except data.DataUnavailable as absent:
        assume(False, str(absent))
    _, train, labels, test, test_labels, _ = fashion
    return tuple(map(jnp.asarray, (train[:3000], labels[:3000], test[:2000], test_labels[:2000])))


@claim(sources=("penn",))
def punch_card_task(
    key, rows: Int(1, 16) = 8, half_width: Int(1, 16) = 8, samples: Int(10, 2000) = 500, marks: Int(1, 8) = 1
):
    r"""Rosenblatt's punch-card demonstration.

    In Rosenblatt's demonstration, cards marked in the left or the right half are separable (weights −1 left, +1
    right), so the perceptron finishes within rows × columns / marks updates.

    $$T \le \frac{R^2}{\gamma^2} = \frac{\text{rows} \times \text{columns}}{\text{marks}}$$

    Check: With one mark per card the count is known exactly: each cell costs one update, the first time it is seen.
    """
    columns = 2 * half_width
    assume(marks <= rows * half_width, "the marks fit in half a card")
    cards, sides = data.punch_cards(samples, rows, columns, marks, key=key)
    x = cards.reshape(samples, -1)
    run = perceptrons.learn(x, sides)
    yield exactly(jnp.sum(sides * (x @ run.weights) <= 0), 0, "training mistakes at the stop")
    yield at_most(run.updates, rows * columns // marks, "updates, against rows × columns / marks")
    yield at_most(run.epochs, 5, "sweeps, the clean one included")
    each_once = exactly(run.updates, jnp.any(cards > 0, axis=0).sum(), "updates, against the cells ever marked")
    yield each_once.given(marks == 1, "one mark a card")
    w = np.asarray(run.weights).reshape(rows, columns)
    wrong = np.sum(w[:, :half_width] > 0) + np.sum(w[:, half_width:] < 0)
    yield exactly(wrong, 0, "weights positive on the left or negative on the right")
    title = f"After {run.updates} updates in {run.epochs} sweeps the weights are negative left and positive right"
    xs, ys = np.arange(1, columns + 1), np.arange(1, rows + 1)
    yield figure.heatmap(title, "column", "row", values=w, xs=xs, ys=ys, colour="weight", diverging=True)


@claim(sources=("eth", "penn"))
def perceptron_nonseparable_cycling(
    key, samples: Int(10, 200) = 40, dim: Int(1, 3) = 2, distance: Real(0.0, 8.0) = 1.5, grid: OneOf(1, 2, 4) = 4
):
    r"""Perceptron cycling on inseparable data.

    Updates stop iff all data are classified correctly. If no plane separates the data, the updates never stop and the
    mistakes keep changing, yet ‖w‖ stays bounded; with rational data in cyclic order the state repeats.

    $$\sup_t \|w_t\| < \infty, \qquad (w, b)_{e + p} = (w, b)_e \text{ for all sweeps } e \ge e_0$$

    Assumes: finitely many examples; cyclic order (for the repetition).

    Check: Gaussian clouds rounded to a grid, so that arithmetic is exact.
    """
    square, xor = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([-1.0, 1.0, 1.0, -1.0])
    run = perceptrons.learn(square, xor, bias=True, epochs=100)
    states, steps = sweep_states(run, square, xor), perceptrons.path(run, square, xor)
    yield close(states[2], states[1], "XOR: (w, b) after sweep 2, against sweep 1")
    yield at_most(np.sum(steps.weights**2, 1) + steps.biases**2, 3.0, "XOR: ‖(w, b)‖² along 100 sweeps")
    x, y = (np.asarray(part) for part in data.gaussian_clouds(samples, dim, distance, key=key))
    x = np.round(x * grid) / grid
    separable = margins.separate(x, y).separable
    run = perceptrons.learn(x, y, bias=True, epochs=100_000 if separable else 3000)
    yield exactly(run.converged, separable, "updates stop, against separability by linear programme")
    kept = perceptrons.pocket(run, x, y)
    yield exactly(np.sum(np.diff(kept.best) > 0), 0, "updates at which the pocket's error rises")
    mistakes = np.sum(np.asarray(kept.classifier(x)) != y)
    yield exactly(mistakes, np.min(kept.errors), "mistakes of the pocket's classifier, against the fewest on the path")
    path = perceptrons.path(run, x, y)
    norms = np.sqrt(np.sum(path.weights**2, 1) + path.biases**2)
    radius = np.max(np.sqrt(np.sum(x**2, 1) + 1))
    if not separable:
        per_sweep = np.bincount(run.times // samples, minlength=run.epochs)
        yield at_least(per_sweep, 1, f"updates in each of {run.epochs} sweeps")
        states = sweep_states(run, x, y)
        cycle = find_cycle(states)
        yield exactly(cycle is not None, True, f"the state repeats within {run.epochs} sweeps")
        if cycle is not None:
            begin, period = cycle
            last = begin + (run.epochs - begin) % period
            what = f"state after {run.epochs} sweeps, foretold by the cycle of period {period}"
            yield close(states[-1], states[last], what)
            one_round = np.searchsorted(run.times, samples * (begin + period))
            until = np.max(norms[: one_round + 1])
            yield close(np.max(norms), until, "largest ‖(w, b)‖ ever, against that before the cycle closes")
            along = slice(np.searchsorted(run.times, samples * begin), one_round + 1)
            wrong = (path.weights[along] @ x.T + path.biases[along, None]) * y <= 0
            yield at_least(len(np.unique(wrong, axis=0)), 2, "different sets of wrong points along the cycle")
        yield at_most(norms[-1], radius * np.sqrt(run.updates), "‖(w, b)‖ at the end, against R √t", strict=True)
    control_x, control_y, _ = data.separable_ball(samples, dim, 0.05, key=key)
    control = perceptrons.learn(control_x, control_y, bias=True, epochs=100_000)
    control_path = perceptrons.path(control, control_x, control_y)
    control_norms = np.sqrt(np.sum(control_path.weights**2, 1) + control_path.biases**2)
    control_errors = path_errors(control, control_x, control_y)
    # A step curve is not thinned by the figure: 400 updates, evenly spread over the logarithmic axis.
    t = np.unique(np.geomspace(1, min(run.updates, 20_000), 400).astype(int)) if run.updates else np.array([1])
    t = t[t < len(norms)]
    u = np.arange(1, min(len(control_norms), 400))
    names = f"clouds {distance:.2g} apart", "separable ball"
    verdict = "Separable: the updates stop" if separable else "Not separable: endless mistakes, bounded weights"
    shares = {names[0]: (t, kept.errors[t]), "its pocket": (t, kept.best[t]), names[1]: (u, control_errors[u])}
    errors = {name: (at, 100 * wrong / samples) for name, (at, wrong) in shares.items()}
    lengths = {names[0]: (t, norms[t]), names[1]: (u, control_norms[u])}
    lines, left = {"R √t": (t, radius * np.sqrt(t))}, "Share of the points that are wrong"
    title = f"{verdict}; largest length {np.max(norms):.3g} in {run.updates} updates"
    right = figure.curves("Length of the weights", "updates", "‖(w, b)‖", lines=lines, steps=lengths, log="xy")
    yield figure.beside(title, figure.curves(left, "updates", "training error in %", steps=errors, log="x"), right)
