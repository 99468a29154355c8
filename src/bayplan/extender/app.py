"""ExtenderApp: an extender of typed handlers.

    app = ExtenderApp()

    @app.filter
    def only_mine(args: ExtenderArgs) -> ExtenderFilterResult:
        mine = tuple(name for name in args.NodeNames or () if name.startswith("mine-"))
        return ExtenderFilterResult(NodeNames=mine)

    app.run(port=8888)

A handler is a function or a coroutine function. Requests are decoded as Go would, responses are spelt as Go
expects them. An exception of a handler reaches the scheduler as an error of this extender: in the `Error` field
of the response if it has one (`filter`, `bind`), else as status 500.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, cast

from bayplan.extender import gojson, wire
from bayplan.extender.request_decoding import NodeDecodingCache, decode_args
from bayplan.observe import klog

if TYPE_CHECKING:
    import ssl

    from aiohttp import web

log = klog.get_logger("bayplan.extender")

T = TypeVar("T")
Filter = Callable[[wire.ExtenderArgs], wire.ExtenderFilterResult | Awaitable[wire.ExtenderFilterResult]]
Prioritize = Callable[[wire.ExtenderArgs], Sequence[wire.HostPriority] | Awaitable[Sequence[wire.HostPriority]]]
Preempt = Callable[
    [wire.ExtenderPreemptionArgs],
    wire.ExtenderPreemptionResult | Awaitable[wire.ExtenderPreemptionResult],
]
Bind = Callable[
    [wire.ExtenderBindingArgs], wire.ExtenderBindingResult | Awaitable[wire.ExtenderBindingResult | None] | None
]
# Decorators return the function unchanged.
F = TypeVar("F", bound=Filter)
P = TypeVar("P", bound=Prioritize)
E = TypeVar("E", bound=Preempt)
B = TypeVar("B", bound=Bind)

FILTER: Final = "filter"
PRIORITIZE: Final = "prioritize"
PREEMPT: Final = "preempt"
BIND: Final = "bind"
#: Larger than a request with 15,000 whole nodes.
MAX_BODY_BYTES: Final = 256 * 1024 * 1024


class AppResponse(NamedTuple):
    """HTTP status and body."""

    status: int
    body: bytes


class ExtenderApp:
    """See the module docstring."""

    def __init__(self) -> None:
        self._handlers: dict[str, Callable[[Any], Any]] = {}
        self._memory = NodeDecodingCache()

    # --- handlers ---------------------------------------------------------------------------------

    def filter(self, handler: F) -> F:
        """Register a handler from ExtenderArgs to an ExtenderFilterResult."""
        return self._add(FILTER, handler)

    def prioritize(self, handler: P) -> P:
        """Register a handler from ExtenderArgs to a HostPriority for each node."""
        return self._add(PRIORITIZE, handler)

    def preempt(self, handler: E) -> E:
        """Register a handler from ExtenderPreemptionArgs to an ExtenderPreemptionResult."""
        return self._add(PREEMPT, handler)

    def bind(self, handler: B) -> B:
        """Register a handler from ExtenderBindingArgs to an ExtenderBindingResult; None is success."""
        return self._add(BIND, handler)

    def _add(self, verb: str, handler: T) -> T:
        if verb in self._handlers:
            raise ValueError(f"there is a handler for {verb} already")
        self._handlers[verb] = cast("Callable[[Any], Any]", handler)
        return handler

    @property
    def verbs(self) -> Sequence[str]:
        """The verbs with a handler."""
        return tuple(self._handlers)

    # --- responses ----------------------------------------------------------------------------------

    async def answer(self, verb: str, body: bytes) -> AppResponse:
        """The response to one request; never raises."""
        handler = self._handlers.get(verb)
        if handler is None:
            return _refusal(404, f"this extender has no {verb}; it has {', '.join(self._handlers)}")
        try:
            args = self._decode(verb, body)
        except gojson.GoJsonError as error:
            return _refusal(400, f"{verb}: the request cannot be read: {error}")
        try:
            result = handler(args)
            if inspect.isawaitable(result):
                result = await result
            return AppResponse(200, wire.encode(result if result is not None else _NOTHING[verb]))
        except Exception as error:
            log.error(error, "A handler raised an exception", trace=error, verb=verb)
            return self._failed(verb, f"{type(error).__name__}: {error}")

    def _decode(self, verb: str, body: bytes) -> wire.WireMessage:
        if verb in (FILTER, PRIORITIZE):
            return decode_args(body, self._memory.node)
        return gojson.decode(body, _ARGS[verb])

    @staticmethod
    def _failed(verb: str, text: str) -> AppResponse:
        if verb == FILTER:
            return AppResponse(200, wire.encode(wire.ExtenderFilterResult(Error=text)))
        if verb == BIND:
            return AppResponse(200, wire.encode(wire.ExtenderBindingResult(Error=text)))
        return _refusal(500, text)

    # --- serving ----------------------------------------------------------------------------------

    def application(self, prefix: str = "") -> web.Application:
        """An aiohttp application with every verb under *prefix*."""
        from aiohttp import web  # imported late: a scheduler that only calls extenders does not need it

        application = web.Application(client_max_size=MAX_BODY_BYTES)
        application.router.add_post(f"{prefix}/{{verb}}", self._handle)
        return application

    async def _handle(self, request: web.Request) -> web.Response:
        from aiohttp import web

        response = await self.answer(request.match_info["verb"], await request.read())
        return web.Response(status=response.status, body=response.body, content_type="application/json")

    def run(self, *, host: str = "127.0.0.1", port: int = 8888, ssl_context: ssl.SSLContext | None = None) -> None:
        """Serve until interrupted."""
        from aiohttp import web

        web.run_app(self.application(), host=host, port=port, ssl_context=ssl_context, access_log=None)


_ARGS: Final[Mapping[str, type[wire.WireMessage]]] = {
    PREEMPT: wire.ExtenderPreemptionArgs,
    BIND: wire.ExtenderBindingArgs,
}
#: The result of a handler that returns None.
_NOTHING: Final[Mapping[str, wire.WireMessage | tuple[wire.WireMessage, ...]]] = {
    FILTER: wire.ExtenderFilterResult(),
    PRIORITIZE: (),
    PREEMPT: wire.ExtenderPreemptionResult(),
    BIND: wire.ExtenderBindingResult(),
}


def _refusal(status: int, text: str) -> AppResponse:
    return AppResponse(status, wire.encode(cast("wire.WireMessage", wire.ExtenderBindingResult(Error=text))))
