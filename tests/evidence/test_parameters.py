"""Parameters: declared by a signature, parsed from words, checked against their range."""

from typing import Annotated

import pytest
from hypothesis import given, strategies as st

from leadline.evidence import BadInput, Choice, Parameter, Range, resolve
from leadline.evidence.parameters import parameters_of


def declared(
    key,
    dim: Annotated[int, Range(1, 500)] = 20,
    margin: Annotated[float, Range(0.005, 0.9, log=True)] = 0.1,
    order: Annotated[str, Choice("cyclic", "random")] = "cyclic",
    bias: bool = False,
):
    yield


PARAMETERS = parameters_of(declared)
DIM, MARGIN, ORDER, BIAS = PARAMETERS


def test_a_signature_declares_names_types_defaults_and_ranges():
    assert [(p.name, p.type, p.default) for p in PARAMETERS] == [
        ("dim", int, 20),
        ("margin", float, 0.1),
        ("order", str, "cyclic"),
        ("bias", bool, False),
    ]
    assert MARGIN.domain == Range(0.005, 0.9, log=True)
    assert BIAS.domain == Choice(False, True)


@given(st.integers(1, 500))
def test_whole_numbers_parse_back(n):
    assert DIM.parse(str(n)) == n
    assert DIM.parse(f"{n}.0") == n


@given(st.floats(0.005, 0.9))
def test_numbers_parse_back(v):
    assert MARGIN.parse(repr(v)) == v


@given(st.text(max_size=12))
def test_any_text_is_a_value_in_range_or_a_sentence(text):
    for p in PARAMETERS:
        try:
            value = p.parse(text)
        except BadInput as error:
            assert str(error).endswith(".")
            assert "\n" not in str(error) or "\n" in text
        else:
            assert p.validate(value) == value


@given(st.floats(0, 1), st.floats(0, 1))
def test_positions_on_the_scale_are_valid_and_monotone(u, v):
    for p in (DIM, MARGIN):
        low, high = sorted((u, v))
        assert p.validate(p.at(low)) <= p.validate(p.at(high))
    for p in (ORDER, BIAS):
        assert p.at(u) in p.domain.options


def test_the_ends_of_the_scale_are_the_ends_of_the_range():
    assert [DIM.at(0), DIM.at(1), MARGIN.at(0), MARGIN.at(1)] == [1, 500, 0.005, 0.9]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("dim", "0", "dim = 0 is outside its range; give a whole number from 1 to 500."),
        ("dim", "2.5", "dim = 2.5 is not a whole number; give a whole number from 1 to 500."),
        ("dim", "many", "dim = 'many' is not a number; give a whole number from 1 to 500."),
        ("margin", "nan", "margin = nan is not a finite number; give a number from 0.005 to 0.9."),
        ("margin", "inf", "margin = inf is not a finite number; give a number from 0.005 to 0.9."),
        ("order", "cycle", "order = 'cycle' is not one of 'cyclic', 'random'."),
        ("bias", "maybe", "bias = 'maybe' is not one of false, true."),
        ("margn", "1", "There is no parameter 'margn'; did you mean margin?"),
    ],
)
def test_each_mistake_gets_its_sentence(name, value, message):
    with pytest.raises(BadInput) as error:
        resolve(PARAMETERS, {name: value})
    assert str(error.value) == message


def test_unset_parameters_have_their_defaults():
    assert resolve(PARAMETERS, {"bias": "yes"}) == {"dim": 20, "margin": 0.1, "order": "cyclic", "bias": True}


@pytest.mark.parametrize("value", [True, "x", None, float("nan"), 10**400])
def test_a_number_is_not_a_truth_value_or_a_word(value):
    with pytest.raises(BadInput):
        Parameter("n", int, 1, Range(0, 5)).validate(value)


def test_a_signature_without_default_or_range_is_refused():
    def no_default(key, n: Annotated[int, Range(1, 2)]):
        yield

    def no_range(key, n: int = 1):
        yield

    def default_outside(key, n: Annotated[int, Range(1, 2)] = 3):
        yield

    def no_key(n: Annotated[int, Range(1, 2)] = 1):
        yield

    def log_of_zero(key, n: Annotated[float, Range(0.0, 2.0, log=True)] = 1.0):
        yield

    for function in (no_default, no_range, no_key, log_of_zero):
        with pytest.raises(TypeError):
            parameters_of(function)
    with pytest.raises(BadInput):
        parameters_of(default_outside)


def test_a_word_in_place_of_one_of_a_few_numbers_is_refused_in_a_sentence():
    with pytest.raises(BadInput) as error:
        Parameter("size", int, 2, Choice(2, 4, 8)).parse("many")
    assert str(error.value) == "size = 'many' is not a number; give one of 2, 4, 8."
