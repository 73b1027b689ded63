import asyncio

import httpx
import pytest
from starlette.responses import PlainTextResponse

from leadline.web.explorer.guard import BODY_SECONDS, HEADERS, LARGEST_BODY, Guard, Hosts

AT = "http://127.0.0.1:8765"


async def echo(scope, receive, send):
    """Answers with the length of the body that it was sent."""
    length = len((await receive())["body"]) if scope["method"] == "POST" else 0
    await PlainTextResponse(str(length))(scope, receive, send)


def ask(method="GET", headers=(), content=None, hosts=None, base=AT):
    async def once():
        transport = httpx.ASGITransport(Guard(echo, hosts or Hosts()))
        async with httpx.AsyncClient(transport=transport, base_url=base) as client:
            return await client.request(method, "/", headers=list(headers), content=content)

    return asyncio.run(once())


def post(content, content_type="application/json", **headers):
    return ask("POST", [("content-type", content_type), *headers.items()], content)


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "LocalHost:8765", "[::1]:8765"])
def test_the_names_of_this_machine_are_answered(host):
    assert ask(headers=[("host", host)]).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:8765",
        "127.0.0.1",
        "127.0.0.1:80",
        "127.0.0.1:8765.evil.example",
        "127.0.0.1:8765@evil.example",
        "localhost.evil.example:8765",
        "192.168.1.5:8765",
        "localhost:87650000",
        "localhost:8765:8765",
        "",
        "localhost :8765",
        "[::1:8765",
        "127.1:8765",
        "2130706433:8765",
        "localhost.:8765",
    ],
)
def test_other_names_are_refused_in_one_sentence(host):
    answer = ask(headers=[("host", host)])
    assert answer.status_code == 421
    assert answer.text == "This server does not answer to that name; open http://127.0.0.1:8765/ instead.\n"


def test_two_hosts_are_refused():
    assert ask(headers=[("host", "127.0.0.1:8765"), ("host", "127.0.0.1:8765")]).status_code == 421


@pytest.mark.parametrize(
    ("hosts", "header", "admitted"),
    [
        (Hosts("0.0.0.0"), "192.168.1.5:8765", True),
        (Hosts("0.0.0.0"), "[fe80::1]:8765", True),
        (Hosts("0.0.0.0"), "box.lan:8765", False),
        (Hosts("0.0.0.0", names=("Box.lan",)), "box.LAN:8765", True),
        (Hosts("0.0.0.0", names=("box.lan",)), "notbox.lan:8765", False),
        (Hosts("127.0.0.1", names=("box.lan",)), "box.lan:8765", True),
        (Hosts("127.0.0.2"), "127.0.0.2:8765", True),
        (Hosts("127.0.0.1", 80), "127.0.0.1", True),
        (Hosts("localhost"), "10.0.0.1:8765", False),
    ],
)
def test_a_server_for_others_answers_to_addresses_in_numbers_and_given_names(hosts, header, admitted):
    assert hosts.admits(header) is admitted


def test_the_address_to_open_is_one_that_a_browser_understands():
    found = [Hosts(host).address for host in ("0.0.0.0", "::", "::1", "10.0.0.1")]
    assert found == [f"http://{host}:8765/" for host in ("127.0.0.1", "[::1]", "[::1]", "10.0.0.1")]


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1", "http://localhost:8765", "https://127.0.0.1:8765", ""]
)
@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_another_origin_is_refused(method, origin):
    assert ask(method, [("origin", origin)]).status_code == 403


def test_the_own_origin_is_answered():
    assert post("{}", origin=AT).text == "2"


@pytest.mark.parametrize(
    ("method", "site", "mode", "dest", "status"),
    [
        ("GET", "same-origin", "cors", "empty", 200),
        ("GET", "none", "navigate", "document", 200),
        ("GET", "cross-site", "navigate", "document", 200),
        ("GET", "same-site", "navigate", "document", 200),
        ("GET", "cross-site", "navigate", "iframe", 403),
        ("GET", "cross-site", "no-cors", "script", 403),
        ("GET", "same-site", "no-cors", "image", 403),
        ("GET", "cross-site", "cors", "empty", 403),
        ("DELETE", "cross-site", "navigate", "document", 403),
        ("HEAD", "cross-site", "navigate", "document", 403),
    ],
)
def test_other_sites_may_link_here_and_nothing_else(method, site, mode, dest, status):
    headers = [("sec-fetch-site", site), ("sec-fetch-mode", mode), ("sec-fetch-dest", dest)]
    assert ask(method, headers).status_code == status


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded", "application/jsonp", "json"])
def test_a_form_of_another_page_cannot_post(kind):
    assert post("{}", kind).status_code == 415


def test_json_may_name_its_encoding():
    assert post("{}", "Application/JSON; charset=utf-8").text == "2"


async def pieces(count, size=1024):
    for _ in range(count):
        yield b"x" * size


def test_a_body_of_the_largest_size_arrives_whole_and_a_longer_one_is_refused():
    assert post(b"x" * LARGEST_BODY).text == str(LARGEST_BODY)
    assert post(b"x" * (LARGEST_BODY + 1)).status_code == 413


def test_a_body_without_a_length_is_counted_as_it_comes():
    assert post(pieces(64)).text == str(LARGEST_BODY)
    assert post(pieces(65)).status_code == 413


@pytest.mark.parametrize("length", ["65537", "9" * 5000, "-1", "1e3", "٣"])
def test_a_length_that_is_too_much_or_none_is_refused_before_reading(length):
    assert post(pieces(1), **{"content-length": length.encode()}).status_code == 413


def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch):
    monkeypatch.setattr("leadline.web.explorer.guard.BODY_SECONDS", 0.05)
    assert BODY_SECONDS >= 1

    async def never():
        yield b"{"
        await asyncio.sleep(5)

    async def once():
        body = never()
        sent = []

        async def receive():
            return {"type": "http.request", "body": await anext(body), "more_body": True}

        async def send(message):
            sent.append(message)

        headers = [(b"host", b"127.0.0.1:8765"), (b"content-type", b"application/json")]
        await Guard(echo, Hosts())({"type": "http", "method": "POST", "headers": headers}, receive, send)
        return sent[0]["status"]

    assert asyncio.run(once()) == 408


@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND"])
def test_other_methods_are_refused(method):
    answer = ask(method)
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, HEAD, POST, DELETE"


def test_every_answer_carries_the_headers():
    answers = [
        ask(),
        ask("PUT"),
        post("{}"),
        post("{}", "text/plain"),
        post(b"x" * 10**5),
        ask(headers=[("host", "x")]),
    ]
    assert [a.status_code for a in answers] == [200, 405, 200, 415, 413, 421]
    for answer in answers:
        assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS


def test_the_policy_allows_no_script_but_the_own_files_and_no_other_host():
    policy = dict(part.strip().split(" ", 1) for part in HEADERS["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert policy["script-src"] == policy["connect-src"] == policy["form-action"] == "'self'"
    assert "http" not in HEADERS["Content-Security-Policy"]
