"""Who may ask the explorer, and for how much: a page on another site must not drive it through its reader's browser.

Written as plain ASGI so that streams pass through as they come.
"""

import asyncio
import ipaddress
import re
from dataclasses import dataclass

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

METHODS = ("GET", "HEAD", "POST", "DELETE")
LARGEST_BODY = 64 * 1024
BODY_SECONDS = 10.0

# Inline styles, because Vega's tooltips bring a <style> of their own and latex2mathml writes style attributes.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:/@\[\]]+)(?::([0-9]{1,5}))?")


@dataclass(frozen=True)
class Hosts:
    """The names under which a server that is bound to `host` and `port` may be asked.

    A name from elsewhere may have been pointed at this machine by the page that asks (DNS rebinding); an address in
    numbers cannot, and neither can a name that the user gave.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    names: tuple[str, ...] = ()

    @property
    def address(self) -> str:
        """Where a browser on this machine finds the server."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/"

    @property
    def local(self) -> bool:
        """Whether only this machine can reach the server."""
        return self.host == "localhost" or _address(self.host, loopback=True)

    def admits(self, header: str) -> bool:
        """Whether a Host header names this server."""
        parts = _HOST.fullmatch(header)
        if parts is None or int(parts[2] or 80) != self.port:
            return False
        name = parts[1].lower()
        own = {"localhost", "127.0.0.1", "::1", *(n.lower() for n in (self.host, *self.names))}
        return name.strip("[]") in own or (not self.local and _address(name.strip("[]")))


def _address(text: str, *, loopback: bool = False) -> bool:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return address.is_loopback or not loopback


def visitor(scope: Scope) -> str:
    """Who asks, as far as the server can tell: the address; of one in IPv6 the network, in which a host has many.

    >>> visitor({"client": ("192.0.2.7", 51234)}), visitor({"client": ("2001:db8:1:2:3::4", 51234)}), visitor({})
    ('192.0.2.7', '2001:db8:1:2::/64', '')
    """
    host, _ = scope.get("client") or ("", 0)
    try:
        address = ipaddress.ip_address(host)
    except ValueError:  # a socket of this machine
        return host
    return host if address.version == 4 else str(ipaddress.ip_network((int(address), 64), strict=False))


class Guard:
    """Middleware that refuses what is not asked of this server by its own pages, and adds headers to every answer."""

    def __init__(self, app: ASGIApp, hosts: Hosts):
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(scope["method"], Headers(scope=scope))
        if refusal is None and scope["method"] in ("POST", "DELETE"):
            refusal, receive = await _whole_body(Headers(scope=scope), receive)
        await (refusal or self.app)(scope, receive, send_with_headers)

    def _refusal(self, method: str, headers: Headers) -> Response | None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self.hosts.admits(hosts[0]):
            return _sentence(421, f"This server does not answer to that name; open {self.hosts.address} instead.")
        if method not in METHODS:
            return _sentence(405, f"Only {', '.join(METHODS)} are understood here.", {"Allow": ", ".join(METHODS)})
        if any(origin.lower() != f"http://{hosts[0]}".lower() for origin in headers.getlist("origin")):
            return _sentence(403, "Another site's page may not ask this server for anything.")
        if not _same_site(method, headers):
            return _sentence(403, "Another site's page may link here but not ask for anything itself.")
        if method == "POST" and headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
            return _sentence(415, "Send application/json.")
        return None


def _same_site(method: str, headers: Headers) -> bool:
    """Whether the browser says that a page of this server asks, or a person: by address, bookmark or link."""
    if headers.get("sec-fetch-site", "none") in ("same-origin", "none"):
        return True
    link = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    return link and method == "GET"


async def _whole_body(headers: Headers, receive: Receive) -> tuple[Response | None, Receive]:
    """Read the body, and give it again to whoever asks; or a refusal, if it is too long or too slow."""
    too_long = _sentence(413, f"Send at most {LARGEST_BODY} bytes.", {"Connection": "close"})
    declared = headers.get("content-length", "0")
    if not re.fullmatch("[0-9]{1,9}", declared) or int(declared) > LARGEST_BODY:
        return too_long, receive
    body = b""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return Response(status_code=400), receive
                body += message.get("body", b"")
                if len(body) > LARGEST_BODY:
                    return too_long, receive
                if not message.get("more_body", False):
                    break
    except TimeoutError:
        return _sentence(408, "The request did not arrive in time.", {"Connection": "close"}), receive
    first = [message | {"body": body}]

    async def again() -> Message:
        return first.pop() if first else await receive()

    return None, again


def _sentence(status: int, text: str, headers: dict[str, str] | None = None) -> Response:
    return PlainTextResponse(text + "\n", status, headers)
