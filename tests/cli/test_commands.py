"""The commands: what they print, their JSON, their exit codes, and that they go on where they stopped."""

import re
import subprocess
import sys

import jsonschema
import pytest
import sample_claims  # noqa: F401 - declares the entries
import scipy.optimize  # now: what a search imports comes off its budget, which is short here
import scipy.stats  # noqa: F401
from documented_json import schema, strict

from leadline.cli.running import workers_for
from leadline.evidence import runner


def test_claims_prints_every_entry_as_documented(leadline):
    code, out, _ = leadline("claims", "--json")
    record = strict(out)
    jsonschema.validate(record, schema("claims"))
    assert code == 0
    assert "novikoff-bound" in {e["id"] for e in record}


def test_the_chapters_import_no_library_that_only_running_them_needs():
    names = "altair", "diffrax", "matfree", "scipy", "sklearn", "vl_convert"
    script = f"import sys; from leadline import claims; claims.load(); print({{*{names}}} & {{*sys.modules}})"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "set()\n"


def test_claims_can_be_searched_by_words_and_kind(leadline):
    found = strict(leadline("claims", "perceptron", "--kind", "method", "--json").out)
    assert {e["kind"] for e in found} == {"method"}
    assert "perceptron-training" in {e["id"] for e in found}


def test_an_entry_is_told_with_its_title_and_its_mathematics_in_characters(leadline):
    record = next(
        e for e in strict(leadline("claims", "--json").out) if "\\" in e["statement"] and "\\" in e["formula"]
    )
    code, out, _ = leadline("claims", record["id"])
    assert code == 0
    assert out.startswith(record["title"] + "\n" + record["id"] + ", ")
    assert not set("$\\") & set(out)


def test_check_prints_findings_as_documented(leadline):
    code, out, err = leadline("check", "sample-holds", "sample-unmet", "sample-raises", "--json")
    record = strict(out)
    jsonschema.validate(record, schema("check"))
    assert code == 1  # one of them raises
    assert [f["id"] for f in record["findings"]] == ["sample-holds", "sample-unmet", "sample-raises"]
    assert record["summary"]["verdicts"] == {"holds": 1, "inapplicable": 1, "error": 1}
    assert err == ""


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["sample-holds"], 0),
        (["sample-unmet"], 0),
        (["sample-slow-descent", "--set", "x=0.5"], 1),
        (["sample-erratum-holds"], 1),
        (["sample-unconfirmed"], 0),
        (["sample-raises"], 1),
    ],
)
def test_the_exit_code_says_whether_all_is_as_theory_says(leadline, words, code, runs_here):
    assert leadline("check", *words).code == code


def test_a_finding_that_is_not_confirmed_is_told_from_a_theorem_that_fails(leadline, runs_here):
    out = " ".join(leadline("check", "sample-unconfirmed").out.split())
    assert "✗ sample-unconfirmed not confirmed at this scale" in out
    assert "✗ often at most 1 2 ≤ 1 −0.5 not confirmed" in out
    out = " ".join(leadline("check", "sample-unconfirmed", "sample-holds").out.split())
    assert "2 entries, 4 comparisons: 1 not confirmed at this scale, 1 hold; 1 of 1 errata fail as they must." in out


def test_the_table_puts_measurement_beside_prediction_and_names_errata(leadline, runs_here):
    out = " ".join(leadline("check", "sample-holds", "--seed", "3").out.split())
    assert "✓ sample-holds holds, 1 erratum fails" in out
    assert "measured" in out
    assert "erratum of eth: U ≤ 0" in out
    assert "fails, as it must" in out


def test_out_has_empiricals_figures_and_a_page_that_shows_them(leadline, tmp_path, runs_here):
    out = tmp_path / "out"
    leadline("check", "sample-holds", "sample-unmet", "--out", out)
    assert len((out / "findings.jsonl").read_text().splitlines()) == 2
    assert (out / "figures" / "sample-holds-1.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (out / "figures" / "sample-holds-1.svg").read_text()
    page = (out / "index.html").read_text()
    assert 'src="figures/sample-holds-1.svg"' in page
    assert "<math" in page
    assert "needs that n is at least 5" in page
    assert not re.search(r"(src|href)=\"(https?:)?//", page)


def test_the_same_command_takes_what_is_there_and_fresh_runs_it_again(leadline, tmp_path, runs_here):
    words = ("check", "sample-holds", "sample-64-bit", "--out", tmp_path / "out")
    assert leadline(*words).err == ""
    assert "2 findings taken from an earlier run" in leadline(*words).err
    assert leadline(*words, "--fresh").err == ""


def test_other_parameters_or_another_seed_are_another_task(leadline, tmp_path, runs_here):
    leadline("check", "sample-holds", "--out", tmp_path)
    assert "taken" not in leadline("check", "sample-holds", "--seed", "1", "--out", tmp_path).err
    assert "taken" not in leadline("check", "sample-holds", "--set", "samples=9", "--out", tmp_path).err


def test_errors_run_again(leadline, tmp_path, runs_here):
    leadline("check", "sample-raises", "sample-holds", "--out", tmp_path)
    assert "1 findings taken" in leadline("check", "sample-raises", "sample-holds", "--out", tmp_path).err


def test_a_time_limit_is_kept_and_said(leadline, monkeypatch):
    monkeypatch.setattr(runner, "IDLE_FACTOR", 1000)
    code, out, _ = leadline("check", "sample-works", "--timeout", "3")
    assert code == 1
    assert "stopped after 3 s of processor time" in out


def test_falsify_prints_a_worst_case_that_can_be_run_again(leadline, runs_here):
    code, out, _ = leadline("falsify", "sample-slow-descent", "--budget", "2", "--json")
    record = strict(out)
    jsonschema.validate(record, schema("falsify"))
    assert code == 1
    assert record["violated"]
    again = record["worst"]["command"].split()[1:]
    assert leadline(*again).code == 1


@pytest.mark.slow
def test_novikoffs_bound_resists_and_a_wrong_variant_of_it_does_not(leadline):
    code, out, _ = leadline("falsify", "novikoff-bound", "--budget", "40")
    assert code == 0
    assert "no violation found" in out
    assert leadline("check", "sample-novikoff-wrong").code == 0
    code, out, _ = leadline("falsify", "sample-novikoff-wrong", "--budget", "40")
    assert code == 1
    assert "violated" in out
    assert "Again: leadline check sample-novikoff-wrong --set dim=" in out


def test_cite_prints_bibtex(leadline):
    assert leadline("cite", "sample-holds").out.startswith("@misc{eth,")


def test_python_m_leadline_is_the_same_command():
    help = subprocess.run([sys.executable, "-m", "leadline", "--help"], capture_output=True, text=True, check=True)
    assert {"claims", "check", "falsify", "cite"} <= set(help.stdout.split())


def test_there_are_no_more_workers_than_tasks(monkeypatch):
    class Counted(runner.Workers):
        def __init__(self, jobs):
            self.jobs = jobs

    monkeypatch.setattr(runner, "Workers", Counted)
    monkeypatch.setattr(runner, "cores", lambda: 64)
    asked = ((8, 3), (2, 3), (0, 10), (0, 600), (4, 0))
    assert [workers_for(jobs, tasks).jobs for jobs, tasks in asked] == [3, 2, 10, 64, 1]
