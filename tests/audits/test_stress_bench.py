"""The stress bench says of known optimisers what is known of them."""

import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leadline.audits.stress_bench import Contender, drift, sharp_huber, stress, three_cycle, worst_chain
from leadline.evidence import BadInput, Comparison
from leadline.optimisation import heavy_ball, nesterov_growing, step_sweep
from leadline.optimisation.runs.stress_runs import largest_stable
from leadline.studies.named_functions import named_function


def verdicts(trial, make, **settings):
    found = [c for c in trial(Contender(make, tuple(settings.items()))) if isinstance(c, Comparison)]
    return {c.what: c for c in found}, [str(c.verdict) for c in found]


def test_the_chain_is_between_the_bounds_for_nesterov_and_only_within_the_slower_one_for_gradient_descent():
    assert verdicts(worst_chain, nesterov_growing)[1] == ["holds"] * 4
    assert verdicts(worst_chain, optax.sgd)[1][:3] == ["holds"] * 3


def test_adam_leaves_the_span_so_that_the_lower_bound_does_not_bind_it():
    assert verdicts(worst_chain, optax.adam)[1][:2] == ["inapplicable"] * 2


def test_gradient_descent_attains_its_bound_on_the_sharp_huber_functions_with_step_one():
    from leadline.optimisation import Huber

    gaps = step_sweep(Huber(1 / 11), optax.sgd, jnp.array([1.0]), jnp.ones(1), 5)[0]
    assert float(gaps[-1]) == pytest.approx(1 / 22, rel=1e-12)
    assert verdicts(sharp_huber, nesterov_growing)[1] == ["holds", "holds"]


def test_heavy_ball_tuned_for_quadratics_cycles_and_gradient_descent_does_not():
    found, words = verdicts(three_cycle, heavy_ball, momentum=4 / 9)
    assert words == ["fails"]
    assert 0.05 < next(iter(found.values())).measured < 0.5
    assert verdicts(three_cycle, optax.sgd)[1] == ["holds"]


def test_adam_drifts_to_the_worst_point_and_gradient_descent_to_the_best():
    assert verdicts(drift, optax.sgd)[1] == ["holds", "holds"]
    assert verdicts(drift, optax.adam, b1=0.0, b2=0.1)[1] == ["fails", "fails"]


def test_gradient_descent_is_stable_up_to_two():
    sizes = np.linspace(1.5, 2.5, 101)
    runs = step_sweep(lambda w: w @ w / 2, optax.sgd, jnp.asarray(sizes), jnp.ones(1), 200)
    assert largest_stable(sizes, np.asarray(runs)) == pytest.approx(2.0, abs=0.011)


@pytest.mark.parametrize("make", [lambda step: 3, lambda: optax.sgd(1.0), lambda step: optax.sgd(float(step))])
def test_what_is_no_optimiser_is_said_in_one_sentence(make):
    with pytest.raises(BadInput, match="it must be a function of the step size"):
        next(stress(make))


def test_functions_are_found_by_name_and_in_files(tmp_path):
    file = tmp_path / "rules.py"
    file.write_text("import optax\n\ndef mine(step, b=0.9):\n    return optax.sgd(step, b)\n")
    assert named_function(f"{file}:mine")(0.1, b=0.5).update is not None
    for wrong, message in (
        ("adam", "names no function"),
        ("optax.adma", "adam"),
        ("no_such_package.f", "Cannot import"),
        (f"{tmp_path}/none.py:f", "There is no file"),
        (f"{file}:yours", "mine"),
    ):
        with pytest.raises(BadInput, match=message):
            named_function(wrong)
    file.write_text("1/0")
    with pytest.raises(BadInput, match="does not run"):
        named_function(f"{file}:mine")
