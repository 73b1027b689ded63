"""The bench of regularisers in small: it runs to its end, once, and its exact part holds."""

import jax
import numpy as np
import pytest

from leadline.audits.regularisation.regularisers import BETTER, STATED, exact_layer, regulariser_trials
from leadline.evidence import Comparison, Figure


def test_the_exact_part_holds():
    *compared, picture = exact_layer()
    assert [c.verdict for c in compared] == ["holds", "holds"]
    assert "leave-one-out" in picture.title


@pytest.mark.slow
def test_a_small_bench_says_all_that_is_stated_and_goes_on_after_an_interruption(tmp_path, monkeypatch):
    monkeypatch.setenv("LEADLINE_CACHE", str(tmp_path))
    said = []

    def say(text):
        said.append(text)
        if text.startswith("early") and len(said) < 13:
            raise KeyboardInterrupt

    (name, statement, run), *_ = regulariser_trials(say, seeds=2, num_steps=8)
    assert name == "regulariser-bench"
    assert "a fifth" in statement
    with jax.enable_x64(True):
        with pytest.raises(KeyboardInterrupt):
            list(run(jax.random.key(0)))
        (place,) = (tmp_path / "audits").iterdir()
        assert len(list(place.iterdir())) == len(said) - 1
        found = list(run(jax.random.key(0)))
    assert not place.exists()
    compared = [f for f in found if isinstance(f, Comparison)]
    errors, modes = [c for c in compared if c.empirical], [c for c in compared if not c.empirical]
    assert len(errors) == len(STATED) + 2 * len(BETTER) + 1
    assert all(np.isfinite(c.measured) for c in errors)
    assert [c.verdict for c in modes] == ["holds"] * 4
    assert "40 trained networks" in modes[0].what
    assert sum(isinstance(f, Figure) for f in found) == 2
