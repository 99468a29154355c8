"""ExtenderApp: an extender of typed handlers.

    app = ExtenderApp()

    @app.filter
    def only_mine(args: ExtenderArgs) -> ExtenderFilterResult:
        mine = tuple(name for name in args.NodeNames or () if name.startswith("mine-"))
        return ExtenderFilterResult(NodeNames=mine)

    app.run(port=8888)

A handler is a function or a coroutine function; requests are decoded as Go would, answers are spelt as Go expects
them. What a handler raises reaches the scheduler as an error of this extender: in the answer's `Error` where it
has one (`filter`, `bind`), else as status 500.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, cast

from bayplan.extender import gojson, wire
from bayplan.extender.requests import NodeMemory, decode_args
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
# Decorators give back what they are given.
F = TypeVar("F", bound=Filter)
P = TypeVar("P", bound=Prioritize)
E = TypeVar("E", bound=Preempt)
B = TypeVar("B", bound=Bind)

FILTER: Final = "filter"
PRIORITIZE: Final = "prioritize"
PREEMPT: Final = "preempt"
BIND: Final = "bind"
#: A request with 15,000 whole nodes is below this.
MAX_BODY_BYTES: Final = 256 * 1024 * 1024


class Answer(NamedTuple):
    """What goes back: a status and a body."""

    status: int
    body: bytes


class ExtenderApp:
    """See the module's text."""

    def __init__(self) -> None:
        self._handlers: dict[str, Callable[[Any], Any]] = {}
        self._memory = NodeMemory()

    # --- handlers ---------------------------------------------------------------------------------

    def filter(self, handler: F) -> F:
        """Handles ExtenderArgs, gives an ExtenderFilterResult."""
        return self._add(FILTER, handler)

    def prioritize(self, handler: P) -> P:
        """Handles ExtenderArgs, gives HostPriority for each node."""
        return self._add(PRIORITIZE, handler)

    def preempt(self, handler: E) -> E:
        """Handles ExtenderPreemptionArgs, gives an ExtenderPreemptionResult."""
        return self._add(PREEMPT, handler)

    def bind(self, handler: B) -> B:
        """Handles ExtenderBindingArgs, gives an ExtenderBindingResult; None is success."""
        return self._add(BIND, handler)

    def _add(self, verb: str, handler: T) -> T:
        if verb in self._handlers:
            raise ValueError(f"there is a handler for {verb} already")
        self._handlers[verb] = cast("Callable[[Any], Any]", handler)
        return handler

    @property
    def verbs(self) -> Sequence[str]:
        """What this extender has handlers for."""
        return tuple(self._handlers)

    # --- answers ----------------------------------------------------------------------------------

    async def answer(self, verb: str, body: bytes) -> Answer:
        """The answer to one request; never raises."""
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
            return Answer(200, wire.encode(result if result is not None else _NOTHING[verb]))
        except Exception as error:
            log.error(error, "A handler raised", trace=error, verb=verb)
            return self._failed(verb, f"{type(error).__name__}: {error}")

    def _decode(self, verb: str, body: bytes) -> wire.Wire:
        if verb in (FILTER, PRIORITIZE):
            return decode_args(body, self._memory.node)
        return gojson.decode(body, _ARGS[verb])

    @staticmethod
    def _failed(verb: str, text: str) -> Answer:
        if verb == FILTER:
            return Answer(200, wire.encode(wire.ExtenderFilterResult(Error=text)))
        if verb == BIND:
            return Answer(200, wire.encode(wire.ExtenderBindingResult(Error=text)))
        return _refusal(500, text)

    # --- serving ----------------------------------------------------------------------------------

    def application(self, prefix: str = "") -> web.Application:
        """For aiohttp: every verb under *prefix*."""
        from aiohttp import web  # a scheduler that only asks extenders does without

        application = web.Application(client_max_size=MAX_BODY_BYTES)
        application.router.add_post(f"{prefix}/{{verb}}", self._handle)
        return application

    async def _handle(self, request: web.Request) -> web.Response:
        from aiohttp import web

        answer = await self.answer(request.match_info["verb"], await request.read())
        return web.Response(status=answer.status, body=answer.body, content_type="application/json")

    def run(self, *, host: str = "127.0.0.1", port: int = 8888, ssl_context: ssl.SSLContext | None = None) -> None:
        """Serve until interrupted."""
        from aiohttp import web

        web.run_app(self.application(), host=host, port=port, ssl_context=ssl_context, access_log=None)


_ARGS: Final[Mapping[str, type[wire.Wire]]] = {
    PREEMPT: wire.ExtenderPreemptionArgs,
    BIND: wire.ExtenderBindingArgs,
}
#: What a handler that returns None says.
_NOTHING: Final[Mapping[str, wire.Wire | tuple[wire.Wire, ...]]] = {
    FILTER: wire.ExtenderFilterResult(),
    PRIORITIZE: (),
    PREEMPT: wire.ExtenderPreemptionResult(),
    BIND: wire.ExtenderBindingResult(),
}


def _refusal(status: int, text: str) -> Answer:
    return Answer(status, wire.encode(cast("wire.Wire", wire.ExtenderBindingResult(Error=text))))
