"""The explorer as a web application: which page is where, and how runs are asked for and followed."""

import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Send

from leadline.evidence import BadInput

from ..assets import asset
from ..pages.site import Site
from ..runs import Busy, Run, Runs
from .event_stream import event_stream
from .guard import Guard, Hosts, visitor
from .run_requests import NoSuchEntry, entry_named, task_of_address, wanted_by
from .studies import StudyReports

_REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
_LONGEST_QUERY = 200  # characters
_TITLES = {400: "Not understood", 404: "Not here", 405: "Not possible", 500: "An error"}


def create_app(site: Site, runs: Runs, reports: StudyReports, hosts: Hosts) -> ASGIApp:
    """The explorer; `runs` start and stop with it."""
    return Guard(_Explorer(site, runs, reports).application(), hosts)


class _Explorer:
    """The answers. Those that render pages are plain functions, which Starlette calls in threads of their own."""

    def __init__(self, site: Site, runs: Runs, reports: StudyReports):
        self.site, self.runs, self.reports = site, runs, reports

    def application(self) -> Starlette:
        site = self.site
        routes = [
            Route("/", self._page(lambda request: site.home())),
            Route(
                "/search", self._page(lambda request: site.search(request.query_params.get("q", "")[:_LONGEST_QUERY]))
            ),
            Route("/sources", self._page(lambda request: site.sources())),
            Route("/errata", self._page(lambda request: site.errata())),
            Route("/library", self._page(lambda request: site.library())),
            Route("/library/{name}", self.library),
            Route("/studies", self._page(lambda request: site.studies(self.reports.studies()))),
            Route("/studies/{name}", self.study),
            Route("/chapters/{name}", self.chapter),
            Route("/entries/{id}", self.entry),
            Route("/assets/{name}", self.asset),
            Route("/runs", self.ask, methods=["POST"]),
            Route("/runs/{token}", self.cancel, methods=["DELETE"]),
            Route("/runs/{token}/events", self.events),
        ]
        handlers: dict[Any, Callable] = {HTTPException: self.refused, Exception: self.failed}
        application = Starlette(routes=routes, exception_handlers=handlers, lifespan=self.lifespan)
        application.router.redirect_slashes = False
        return application

    @contextlib.asynccontextmanager
    async def lifespan(self, application: Starlette) -> AsyncIterator[None]:
        await self.runs.start()
        try:
            yield
        finally:
            await self.runs.stop()

    def chapter(self, request: Request) -> Response:
        try:
            return HTMLResponse(self.site.chapter(request.path_params["name"]))
        except BadInput as mistake:
            raise HTTPException(404, str(mistake)) from None

    def library(self, request: Request) -> Response:
        try:
            return HTMLResponse(self.site.of_library(request.path_params["name"]))
        except BadInput as mistake:
            raise HTTPException(404, str(mistake)) from None

    def entry(self, request: Request) -> Response:
        """The page of an entry; a value in the address that cannot be is said on the page, at the defaults."""
        try:
            entry = entry_named(request.path_params["id"])
        except NoSuchEntry as mistake:
            raise HTTPException(404, str(mistake)) from None
        try:
            task = task_of_address(entry, request.query_params.multi_items())
        except BadInput as mistake:
            return HTMLResponse(self.site.entry(entry.id, mistake=str(mistake)), 400)
        given = task.parameters if request.query_params else {}
        return HTMLResponse(self.site.entry(entry.id, given, task.seed))

    def study(self, request: Request) -> Response:
        page = self.reports.page(request.path_params["name"])
        if page is None:
            raise HTTPException(404, "There is no such report; the list of studies has those that there are.")
        return HTMLResponse(page, headers={"Content-Security-Policy": _REPORT_POLICY})

    def asset(self, request: Request) -> Response:
        found = asset(request.path_params["name"])
        if found is None:
            raise HTTPException(404, "There is no such file.")
        headers = {"ETag": found.etag, "Cache-Control": "no-cache"}
        if found.etag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(found.content, headers=headers, media_type=found.media_type)

    async def ask(self, request: Request) -> Response:
        try:
            run = self.runs.ask(wanted_by(await request.body()), visitor(request.scope))
        except NoSuchEntry as mistake:
            raise HTTPException(404, str(mistake)) from None
        except BadInput as mistake:
            raise HTTPException(400, str(mistake)) from None
        except Busy as busy:
            raise HTTPException(429, str(busy)) from None
        return _json({"run": run.token, "events": f"/runs/{run.token}/events"}, 202)

    async def cancel(self, request: Request) -> Response:
        self.runs.cancel(self._run(request))
        return Response(status_code=204)

    async def events(self, request: Request) -> Response:
        run = self._run(request)
        if request.method == "HEAD":
            return Response(media_type=_EventStream.media_type)
        return _EventStream(event_stream(self.site, self.runs, run))

    def _run(self, request: Request) -> Run:
        run = self.runs.find(request.path_params["token"])
        if run is None:
            raise HTTPException(404, "There is no such run any more; ask for it again.")
        return run

    def refused(self, request: Request, refusal: HTTPException) -> Response:
        """What cannot be had: a page for people, JSON for the script that asks for runs."""
        known = {404: "There is no such page.", 405: "This cannot be done here."}
        default = refusal.detail in ("Not Found", "Method Not Allowed")
        sentence = known[refusal.status_code] if default else refusal.detail
        if request.url.path.startswith("/runs"):
            return _json({"error": sentence}, refusal.status_code, refusal.headers)
        page = self.site.message(_TITLES.get(refusal.status_code, "Not possible"), sentence)
        return HTMLResponse(page, refusal.status_code, refusal.headers)

    def failed(self, request: Request, error: Exception) -> Response:
        """A mistake of this program: one sentence here, the traceback in the server's log."""
        sentence = "This page could not be made; the server's log says why."
        if request.url.path.startswith("/runs"):
            return _json({"error": sentence}, 500)
        try:
            return HTMLResponse(self.site.message(_TITLES[500], sentence), 500)
        except Exception:  # what every page is made of is broken
            return PlainTextResponse(sentence + "\n", 500)

    @staticmethod
    def _page(make: Callable[[Request], str]) -> Callable[[Request], Response]:
        def page(request: Request) -> Response:
            return HTMLResponse(make(request))

        return page


class _EventStream(StreamingResponse):
    """A stream whose source is closed as soon as its reader has gone."""

    media_type = "text/event-stream"

    async def stream_response(self, send: Send) -> None:
        async with contextlib.aclosing(self.body_iterator):
            await super().stream_response(send)


def _json(value: dict[str, Any], status: int, headers: Any = None) -> Response:
    """JSON in ASCII: what was asked, and is told again, may hold halves of characters that UTF-8 cannot."""
    return Response(json.dumps(value), status, headers, "application/json")
