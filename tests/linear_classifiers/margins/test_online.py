"""One pass of the perceptron over a stream of constant margin, against the reference numbers of the curriculum."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadline import data
from leadline.data.generators.margin_shell import shell_error
from leadline.linear_classifiers import margins, perceptrons


@pytest.mark.parametrize(("margin", "samples", "mistakes", "error"), [(0.1, 100, 32, 0.21), (0.05, 400, 134, 0.19)])
def test_after_the_printed_number_of_examples_a_third_were_mistakes_and_a_fifth_still_are(
    margin, samples, mistakes, error
):
    counts, errors = [], []
    for seed in range(40):
        x, y, _ = data.margin_shell(samples, 50, margin, key=jax.random.key(seed))
        run = perceptrons.learn(x, y, epochs=1)
        counts.append(run.updates)
        errors.append(float(shell_error(jnp.asarray(run.weights), margin)))
    # The references are means of 40 runs as well: both sides have the standard error, and were rounded.
    assert abs(np.mean(counts) - mistakes) < 4 * np.std(counts) * np.sqrt(2 / 40) + 0.5
    assert abs(np.mean(errors) - error) < 4 * np.std(errors) * np.sqrt(2 / 40) + 0.005
    assert max(counts) <= margins.mistake_bound(1.0, margin)


def test_the_errors_of_all_prefixes_add_up_to_the_expected_mistakes():
    # E[mistakes on n + 1 examples] = sum of E[err(w_t)], t = 0..n: the step from online to batch.
    n, margin, gaps = 50, 0.2, []
    for seed in range(200):
        x, y, _ = data.margin_shell(n + 1, 10, margin, key=jax.random.key(seed))
        run = perceptrons.learn(x, y, epochs=1)
        weights = np.resize(perceptrons.path(run, x, y).weights, (n + 2, 10))
        made = np.searchsorted(run.times, np.arange(n + 1))
        gaps.append(run.updates - float(np.asarray(shell_error(jnp.asarray(weights), margin))[made].sum()))
    assert abs(np.mean(gaps)) < 4 * np.std(gaps) / np.sqrt(len(gaps))
