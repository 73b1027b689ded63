import asyncio
import json
from urllib.parse import unquote

import httpx
import pytest
import sample_claims  # noqa: F401  (registers the entries)

import leadline
from leadline.evidence import Finding, Task, at_most, entry, versions
from leadline.web.explorer.app import create_app
from leadline.web.explorer.guard import HEADERS, Hosts
from leadline.web.explorer.studies import StudyReports
from leadline.web.known_findings import KnownFindings
from leadline.web.pages.site import Site
from leadline.web.runs import Busy, Event, Run, Runs

SECRET = "the secret of another directory"


class Scripted(Runs):
    """Runs without processes: each is done as soon as it is followed."""

    def __init__(self):
        self.asked, self.cancelled, self.busy = {}, [], False

    def ask(self, wanted, visitor):
        if self.busy:
            raise Busy("32 runs wait already; try again when some are done.")
        run = Run(wanted, wanted.task())
        self.asked[run.token] = run
        return run

    def find(self, token):
        return self.asked.get(token)

    def cancel(self, run):
        self.cancelled.append(run)

    async def follow(self, run):
        yield Event("done", Finding(run.wanted.entry.id, run.task.parameters, 0, (at_most(0.5, 1.0, "number"),)))


class Explorer:
    """The application, asked without a socket."""

    def __init__(self, reports):
        self.runs, self.known = Scripted(), KnownFindings()
        self.site = Site(self.known)
        self.app = create_app(self.site, self.runs, StudyReports([reports]), Hosts())

    def ask(self, method, path, **options):
        async def once():
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765") as client:
                return await client.request(method, path, **options)

        return asyncio.run(once())

    def get(self, path, **options):
        return self.ask("GET", path, **options)

    def post(self, record):
        return self.ask("POST", "/runs", content=json.dumps(record), headers={"content-type": "application/json"})

    def raw(self, path, raw_path=None):
        """The status and body of an answer to a path that no client would send."""
        sent = []

        async def receive():
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message):
            sent.append(message)

        scope = {
            "type": "http",
            "method": "GET",
            "path": path,
            "raw_path": (raw_path or path).encode(),
            "root_path": "",
            "query_string": b"",
            "headers": [(b"host", b"127.0.0.1:8765")],
            "scheme": "http",
            "http_version": "1.1",
            "server": ("127.0.0.1", 8765),
        }
        asyncio.run(self.app(scope, receive, send))
        return sent[0]["status"], b"".join(m.get("body", b"") for m in sent)


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    base = tmp_path_factory.mktemp("studies")
    (base / "secret.txt").write_text(SECRET)
    (base / "reports" / "digits").mkdir(parents=True)
    (base / "reports" / "digits" / "report.html").write_text("<style>p {color: red}</style><p>of digits</p>")
    (base / "reports" / "linked").mkdir()
    (base / "reports" / "linked" / "report.html").symlink_to(base / "secret.txt")
    return base / "reports"


@pytest.fixture
def explorer(reports):
    return Explorer(reports)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/", "Contents"),
        ("/search?q=uniform", "sample-holds"),
        ("/search", "Search"),
        ("/sources", "Sources"),
        ("/errata", "Where a text has a formula or a statement that does not hold as it stands."),
        ("/library", "leadline.<wbr>probability"),
        ("/library/probability", 'href="/library/probability.gaussian_kl"'),
        ("/library/probability.gaussian_kl", 'href="/entries/sample-pauses"'),
        ("/studies", "/studies/digits"),
        ("/chapters/sample_claims", "A uniform number is at most 1."),
        ("/entries/sample-holds", "A uniform number is at most 1."),
        ("/entries/sample-holds?samples=7&seed=3", "leadline check sample-holds --set samples=7 --seed 3"),
    ],
)
def test_every_page_is_there(explorer, path, words):
    answer = explorer.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert words in answer.text
    assert explorer.ask("HEAD", path).status_code == 200


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("/entries/sample-hold", "There is no entry &#39;sample-hold&#39;; did you mean sample-holds"),
        ("/chapters/sample_claim", "There is no chapter &#39;sample_claim&#39;; did you mean sample_claims"),
        ("/library/probability.gaussian_k", "did you mean probability.gaussian_kl"),
        ("/library/probabilty", "did you mean probability"),
        ("/library/claims", "There is no name of the library &#39;claims&#39;"),
        ("/studies/fashion", "There is no such report"),
        ("/assets/app.py", "There is no such file"),
        ("/nothing", "There is no such page"),
        ("/entries/", "There is no such page"),
        ("/entries/%3Cscript%3Ealert(1)%3C%2Fscript%3E", "There is no such page"),
        ("/entries/%3Cimg%20src=x%3E", "&lt;img src=x&gt;"),
    ],
)
def test_what_is_not_there_is_a_page_that_says_so(explorer, path, sentence):
    answer = explorer.get(path)
    assert answer.status_code == 404
    assert sentence in answer.text
    assert "<h1>Not here</h1>" in answer.text
    assert "<img src=x" not in answer.text


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("samples=0", "samples = 0 is outside its range; give a whole number from 1 to 1000."),
        ("samples=nan", "samples = nan is not a finite number"),
        ("sample=3", "did you mean samples?"),
        ("seed=2147483648", "seed = 2147483648 is outside its range"),
        ("samples=%3Cb%3E", "samples = &#39;&lt;b&gt;&#39; is not a number"),
        ("samples=%ff", "is not a number"),
    ],
)
def test_a_value_that_cannot_be_is_said_on_the_page_of_the_entry(explorer, query, sentence):
    answer = explorer.get(f"/entries/sample-holds?{query}")
    assert answer.status_code == 400
    assert sentence in answer.text
    assert "A uniform number is at most 1." in answer.text


def test_a_known_finding_is_shown_without_running_anything(explorer):
    task = Task.of(entry("sample-holds"), {"samples": 9})
    told = (at_most(0.25, 1.0, "a number never seen"),)
    explorer.known.keep(Finding("sample-holds", task.parameters, 0, told, versions=versions()))
    known, other = (explorer.get(f"/entries/sample-holds?samples={n}").text for n in (9, 8))
    assert "a number never seen" in known
    assert 'data-run="no"' in known
    assert "a number never seen" not in other
    assert 'data-run="yes"' in other


def test_the_first_opening_asks_for_a_run_of_what_is_not_known(explorer):
    assert 'data-run="yes"' in explorer.get("/entries/sample-holds").text
    slow = explorer.get("/entries/sample-slow").text
    assert 'data-run="yes"' in slow
    assert "being run for the first time, which takes 1 minute" in slow
    assert 'data-run="no"' in explorer.get("/entries/sample-holds?samples=0").text  # a mistake
    assert explorer.runs.asked == {}  # it is the page that asks, once it is seen


def test_a_run_is_asked_for_followed_and_cancelled(explorer):
    answer = explorer.post({"kind": "check", "id": "sample-holds", "parameters": {"samples": 7}, "page": "p"})
    assert answer.status_code == 202
    token = answer.json()["run"]
    assert answer.json() == {"run": token, "events": f"/runs/{token}/events"}
    assert explorer.runs.asked[token].task.parameters == {"samples": 7}
    events = explorer.get(f"/runs/{token}/events")
    assert events.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert events.text.startswith("retry: 500\n\nevent: done\ndata: {")
    assert explorer.ask("HEAD", f"/runs/{token}/events").text == ""
    assert explorer.ask("DELETE", f"/runs/{token}").status_code == 204
    assert explorer.runs.cancelled == [explorer.runs.asked[token]]


def test_runs_that_cannot_be_are_refused_in_json(explorer):
    refusals = [
        explorer.post({"id": "sample-hold"}),
        explorer.post({"id": "sample-holds", "parameters": {"samples": 0}}),
        explorer.post([]),
        explorer.post({"id": "sample-holds", "parameters": {"samples": "\ud800"}}),
        explorer.get("/runs/none/events"),
        explorer.ask("DELETE", "/runs/none"),
        explorer.get("/runs"),
    ]
    assert [r.status_code for r in refusals] == [404, 400, 400, 400, 404, 404, 405]
    assert all(r.json()["error"].endswith((".", "?")) for r in refusals)
    explorer.runs.busy = True
    busy = explorer.post({"id": "sample-holds"})
    assert (busy.status_code, busy.json()["error"]) == (429, "32 runs wait already; try again when some are done.")


def test_a_defect_is_a_page_with_one_sentence_and_no_traceback(explorer, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError(SECRET)

    monkeypatch.setattr(explorer.site, "sources", broken)
    answer = explorer.get("/sources")
    assert answer.status_code == 500
    assert "This page could not be made" in answer.text
    assert "<h1>An error</h1>" in answer.text
    monkeypatch.setattr(explorer.runs, "ask", broken)
    asked = explorer.post({"id": "sample-holds"})
    assert asked.status_code == 500
    assert "could not be made" in asked.json()["error"]
    monkeypatch.setattr(explorer.site, "message", broken)
    last = explorer.get("/sources")
    assert (last.status_code, last.headers["content-type"]) == (500, "text/plain; charset=utf-8")
    assert not any("ZeroDivision" in a.text or SECRET in a.text for a in (answer, asked, last))


def test_every_kind_of_answer_carries_the_headers(explorer, monkeypatch):
    token = explorer.post({"id": "sample-holds"}).json()["run"]
    monkeypatch.setattr(explorer.site, "sources", lambda: 1 / 0)
    answers = {
        "/": 200,
        "/entries/none": 404,
        "/entries/sample-holds?samples=0": 400,
        "/runs": 405,
        "/sources": 500,
        f"/runs/{token}/events": 200,
        "/search//": 404,
    }
    for path, status in answers.items():
        answer = explorer.get(path)
        assert answer.status_code == status
        assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS, path


def test_a_report_is_served_with_a_policy_that_runs_no_script(explorer):
    answer = explorer.get("/studies/digits")
    assert answer.text == "<style>p {color: red}</style><p>of digits</p>"
    policy = answer.headers["content-security-policy"]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("name", ["explorer.css", "explorer.js", "vega.js", "search-index.js"])
def test_assets_are_asked_for_again_only_when_they_changed(explorer, name):
    answer = explorer.get(f"/assets/{name}")
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["content-type"].startswith("text/css" if name.endswith("css") else "text/javascript")
    again = explorer.get(f"/assets/{name}", headers={"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", answer.headers["etag"])
    assert explorer.get(f"/assets/{name}", headers={"if-none-match": '"other"'}).status_code == 200


PLACES = ("/assets/", "/studies/", "/library/", "/entries/", "/chapters/", "/runs/", "/")
ESCAPES = (
    "../app.py",
    "..%2fapp.py",
    "%2e%2e/app.py",
    "%2e%2e%2fapp.py",
    "..\\app.py",
    "..%5capp.py",
    "../../secret.txt",
    "..%2f..%2fsecret.txt",
    "..%252fapp.py",
    "/etc/passwd",
    "//etc/passwd",
    "%2fetc%2fpasswd",
    "explorer.css%00.py",
    "explorer.css/../../app.py",
    "digits/../../secret.txt",
    "digits%2f..%2f..%2fsecret.txt",
    "linked",
    "digits/report.html",
    ".",
    "..",
    "file:///etc/passwd",
    "....//app.py",
    "\u2025/app.py",
)


@pytest.mark.parametrize("place", PLACES)
def test_no_path_leads_to_another_file(explorer, place):
    own = (leadline.__path__[0], "create_app", "root:", SECRET)
    for escape in ESCAPES:
        for path in {place + escape, unquote(place + escape), unquote(unquote(place + escape)), place + "a\x00b"}:
            status, body = explorer.raw(path, place + escape)
            assert status in (200, 404, 405), path
            assert status != 200 or path.rstrip("./") == "", path
            assert not any(word.encode() in body for word in own), path


def test_pages_name_no_other_host(explorer):
    for path in ("/", "/entries/sample-holds", "/library/probability.gaussian_kl", "/studies", "/nothing"):
        text = explorer.get(path).text.replace("http://www.w3.org/", "")
        assert "http:" not in text
        assert "https:" not in text
        assert 'src="//' not in text


def test_the_search_index_leads_to_pages_that_are_there(explorer):
    text = explorer.get("/assets/search-index.js").text
    assert json.dumps("sample-holds") in text
