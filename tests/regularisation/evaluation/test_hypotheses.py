"""A hypothesis is stated once, read back as it was, and judged on its own seeds."""

import numpy as np
import pytest

from leadline.regularisation import paired_difference, state_hypothesis
from leadline.regularisation.evaluation.hypotheses import read_hypothesis

STATED = {"better": "decay", "worse": "none", "measure": "test error", "seeds": (3, 4, 5, 6)}


def test_it_is_written_once_and_read_back(tmp_path):
    path = tmp_path / "records" / "decay.json"
    stated = state_hypothesis(path, **STATED)
    assert read_hypothesis(path) == stated
    assert stated.stated.endswith("+00:00")
    with pytest.raises(ValueError, match="already"):
        state_hypothesis(path, **STATED)


def test_it_is_judged_by_the_test_that_it_names(tmp_path):
    stated = state_hypothesis(tmp_path / "a.json", **STATED, level=0.9)
    low, high = np.array([0.1, 0.12, 0.09, 0.11]), np.array([0.2, 0.21, 0.22, 0.19])
    assert stated.judge(low, high) == (True, paired_difference(low, high, level=0.9))
    assert not stated.judge(high, low)[0]
    with pytest.raises(ValueError, match="names 4 seeds and got 3"):
        stated.judge(low[:3], high[:3])


@pytest.mark.parametrize("wrong", [{"test": "wilcoxon"}, {"level": 1.0}, {"seeds": (1,)}, {"seeds": (1, 1)}])
def test_what_cannot_be_judged_is_not_stated(tmp_path, wrong):
    with pytest.raises(ValueError, match="state_hypothesis got"):
        state_hypothesis(tmp_path / "a.json", **{**STATED, **wrong})
    assert not (tmp_path / "a.json").exists()


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("{")
    with pytest.raises(ValueError, match="cannot be read as a hypothesis"):
        read_hypothesis(path)
    with pytest.raises(FileNotFoundError, match="There is no file"):
        read_hypothesis(tmp_path / "none.json")
