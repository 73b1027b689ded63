"""The explorer as a process: where it listens, what it refuses, how it stops."""

import contextlib
import json
import queue
import signal
import socket
import time

import pytest
from web.explorer_process import Explorer


@pytest.fixture
def taken_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def test_a_port_that_is_taken_is_said(leadline, taken_port):
    code, out, err = leadline("serve", "--port", taken_port)
    sentence = f"Port {taken_port} is taken; choose another --port, or leave it out for one that is free."
    assert (code, out, err) == (2, "", f"leadline: {sentence}\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--studies", "no-such-directory"], "There is no directory no-such-directory"),
        (["--port", "0", "--findings", "no-such-directory"], "There is no findings.jsonl in no-such-directory"),
        (["--host", "no.such.host.invalid"], "There is no address no.such.host.invalid"),
        (["--host", "192.0.2.1"], "Cannot listen on 192.0.2.1"),
        (["--port", "70000"], "--port"),
        (["--jobs", "0"], "--jobs"),
    ],
)
def test_a_mistake_gets_one_sentence_and_exit_code_2(leadline, monkeypatch, arguments, sentence):
    monkeypatch.setattr("leadline.claims.load", lambda: None)
    code, out, err = leadline("serve", *arguments)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1


def test_without_a_chosen_port_the_next_free_one_is_taken(monkeypatch, taken_port):
    from leadline.web.explorer import server

    monkeypatch.setattr(server, "PORT", taken_port)
    with server._bound_socket("127.0.0.1", None) as listener:
        assert taken_port < listener.getsockname()[1] < taken_port + 100


@pytest.fixture
def not_run(monkeypatch):
    """Servers are made and not run; what they were made of is noted."""
    from leadline.web.explorer import server

    made = []
    monkeypatch.setattr("leadline.claims.load", lambda: None)
    monkeypatch.setattr(server, "create_app", lambda *parts: made.append(parts))
    monkeypatch.setattr(server._Server, "run_until_stopped", lambda *_: None)
    monkeypatch.setattr("webbrowser.open", lambda address: pytest.fail(f"opened {address}"))
    return made


def test_whoever_lets_others_in_is_warned(leadline, not_run):
    code, out, err = leadline("serve", "--host", "0.0.0.0", "--port", "0", "--name", "box.lan")
    hosts = not_run[0][-1]
    assert (code, err) == (0, "Warning: anyone who can reach this machine can run checks on it.\n")
    assert out == f"Leadline's explorer: http://127.0.0.1:{hosts.port}/ (Ctrl-C stops it)\n"
    assert hosts.admits(f"box.lan:{hosts.port}")


def test_reports_beside_it_are_shown_unless_others_are_chosen(leadline, not_run, monkeypatch, tmp_path):
    for place in ("here/studies/one", "there/two"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "report.html").write_text("")
    monkeypatch.chdir(tmp_path / "here")
    leadline("serve", "--port", "0")
    leadline("serve", "--port", "0", "--studies", "../there")
    assert [[s.name for s in reports.studies()] for _, _, reports, _ in not_run] == [["one"], ["two"]]


def test_the_browser_is_opened_when_asked(leadline, not_run, monkeypatch):
    opened = queue.Queue()
    monkeypatch.setattr("webbrowser.open", opened.put)
    monkeypatch.setenv("DISPLAY", ":0")
    _, out, _ = leadline("serve", "--port", "0", "--open")
    assert f" {opened.get(timeout=10)} " in out


@pytest.fixture(scope="module")
def explorer(tmp_path_factory):
    """One server for the module, which its last test stops."""
    started = Explorer(tmp_path_factory.mktemp("explorer"), "--jobs", "1")
    yield started
    started.stop()


def test_it_says_where_it_is_and_serves_pages(explorer):
    assert explorer.said == f"Leadline's explorer: http://127.0.0.1:{explorer.port}/ (Ctrl-C stops it)\n"
    status, page = explorer.ask("GET", "/entries/novikoff-bound")
    assert status == 200
    assert "perceptron" in page


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"GET /assets/../app.py HTTP/1.1", b"404"),
        (b"GET /assets/%2e%2e/app.py HTTP/1.1", b"404"),
        (b"GET /assets/..%2fapp.py HTTP/1.1", b"404"),
        (b"GET /studies/..%2f..%2fcache HTTP/1.1", b"404"),
        (b"GET //etc/passwd HTTP/1.1", b"404"),
        (b"GET /assets/explorer.css%00 HTTP/1.1", b"404"),
        (b"GET /assets/..\\app.py HTTP/1.1", b"40"),
        (b"GET /%ff%fe HTTP/1.1", b"404"),
        (b"OPTIONS * HTTP/1.1", b"40"),
        (b"nonsense", b"400"),
    ],
)
def test_requests_that_no_browser_sends_get_a_refusal(explorer, line, status):
    answer = explorer.raw(line + b"\r\nHOST\r\nConnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert b"create_app" not in answer
    assert b"\r\nserver:" not in answer.lower()


def test_a_foreign_host_or_none_is_refused(explorer):
    for request in (b"GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", b"GET / HTTP/1.0\r\n\r\n"):
        answer = explorer.raw(request)
        assert answer.startswith(b"HTTP/1.1 421 ")
        assert b"content-security-policy" in answer


def test_ctrl_c_ends_it_with_its_streams_and_its_workers(explorer):
    _, answer = explorer.ask("POST", "/runs", json.dumps({"kind": "falsify", "id": "gelu", "budget": 300}))
    assert len(explorer.relatives()) > 2  # the server, a worker and the one that is ready
    with contextlib.closing(explorer.connect()) as idle, contextlib.closing(explorer.connect()) as following:
        idle.request("GET", "/sources")  # and stays open, as browsers keep theirs
        assert idle.getresponse().read()
        following.request("GET", json.loads(answer)["events"])
        events = following.getresponse()
        assert events.readline() == b"retry: 500\n"
        start = time.monotonic()
        explorer.process.send_signal(signal.SIGINT)
        out, err = explorer.process.communicate(timeout=20)
        assert time.monotonic() - start < 10  # a second or two where nothing else keeps the machine busy
        assert b"event: ended" in events.read()
    assert (explorer.process.returncode, out) == (0, "")
    assert err.replace("Invalid HTTP request received.\n", "") == ""
    while explorer.relatives() and time.monotonic() - start < 15:  # what cleans up after the workers goes last
        time.sleep(0.05)
    assert explorer.relatives() == []
