"""The matrix: every network of the zoo by every instrument gives a verdict or a true reason, never an exception."""

import math

import pytest
from studies.zoo import CHEAP, ZOO

from leadline.studies.card import card_of
from leadline.studies.instruments import instruments

DEAR = sorted(set(ZOO) - set(CHEAP))


def silent(value, where=""):
    """The places of numbers that are NaN."""
    if isinstance(value, dict):
        return [found for name, part in value.items() for found in silent(part, f"{where}.{name}")]
    if isinstance(value, list | tuple):
        return [found for number, part in enumerate(value) for found in silent(part, f"{where}[{number}]")]
    return [where] if isinstance(value, float) and math.isnan(value) else []


def check(name, minutes=None):
    """Every card of one network has a sentence, comparisons or a reason, and no NaN."""
    subject = ZOO[name]()
    subject.budget.limit(minutes)
    for instrument in instruments().values():
        card = card_of(instrument, subject, raising=False)
        assert not card.finding.error, (instrument.name, card.finding.error)
        if card.skipped:
            assert len(card.skipped.split()) > 3
            continue
        assert card.finding.comparisons
        assert card.meaning.sentence.endswith(".")
        assert not silent(card.numbers), instrument.name


@pytest.mark.parametrize("name", CHEAP)
def test_every_instrument_answers_on_a_small_network(name):
    check(name)


@pytest.mark.slow
@pytest.mark.usefixtures("optimised_as_for_users")
@pytest.mark.parametrize("name", DEAR)
def test_every_instrument_answers_on_networks_of_every_kind(name):
    check(name, minutes=1)
