"""The search index: a script that sets one list, and cannot be anything else."""

import dataclasses
import json
import re

import sample_claims  # noqa: F401 - declares the entries

from leadline.evidence import entries, entry
from leadline.web.pages.addresses import Addresses
from leadline.web.pages.search_index import search_index

IN_THE_BOOK = Addresses("../", ".html", live=False)


def rows(script: str) -> list[list[str]]:
    return json.loads(re.match(r"globalThis\.leadlineIndex = (\[.*\])\.map\(\n", script)[1])


def test_entries_chapters_and_pages_can_be_found():
    found = {row[0]: row[1:] for row in rows(search_index(entries(chapter="sample_claims"), IN_THE_BOOK))}
    assert found["sample-holds"] == ["claim", "sample_claims", "Sample holds", "A uniform number is at most 1."]
    assert found["sample_claims"][0] == "chapter"
    assert found["sample_claims"][-1] == "../chapters/sample_claims.html"
    assert found["errata"][-1] == "../errata.html"
    assert "Perez Jensen" in found["sources"][4]


def test_assumptions_and_names_in_the_library_are_further_words():
    told = dataclasses.replace(
        entry("sample-holds"), assumes=("data are separable",), shows=("linear_classifiers.margins.max_margin",)
    )
    assert rows(search_index([told], IN_THE_BOOK))[0][5] == "data are separable linear_classifiers.margins.max_margin"


def test_mathematics_is_in_characters_and_names_are_without_marks():
    told = dataclasses.replace(entry("sample-holds"), statement=r"Within $\frac{\hat R}{\sqrt n}$ of `risk`.")
    assert rows(search_index([told], IN_THE_BOOK))[0][4] == "Within R̂/√n of risk."


def test_addresses_of_entries_are_made_from_their_ids():
    assert 'at = "../entries/" + id + ".html"' in search_index([], IN_THE_BOOK)
    assert 'at = "/entries/" + id + ""' in search_index([], Addresses())


def test_no_text_of_an_entry_ends_the_script_or_a_line():
    statement = "</script><!-- \u2028 \u2029 \\ \" ' ${x}"
    script = search_index([dataclasses.replace(entry("sample-holds"), statement=statement)], IN_THE_BOOK)
    assert not set("<\u2028\u2029") & set(script)
    assert rows(script)[0][4] == statement
