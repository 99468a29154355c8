"""Logs read like those of a Kubernetes component."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.config.duration import Duration
from bayplan.observe import klog
from bayplan.testing import make_node, make_pod

POD = make_pod("web", namespace="default")


@pytest.fixture(autouse=True)
def _own_logging() -> Iterator[None]:
    """Each test sets up logging, and leaves it as it was."""
    root, ours = logging.getLogger(), logging.getLogger("bayplan")
    handlers, levels = root.handlers[:], (root.level, ours.level)
    yield
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    ours.setLevel(levels[1])


def written(verbosity: int = 0, **options: Any) -> io.StringIO:
    err = io.StringIO()
    klog.set_up(verbosity, err=err, **options)
    return err


log = klog.get_logger("bayplan.test")


def test_line_is_klogs() -> None:
    """Severity, date, time, process, file and line, then the message and its pairs."""
    err = written(3)

    log.info("Attempting to schedule pod", v=3, pod=POD)

    assert re.fullmatch(
        r'I\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ test_klog\.py:\d+\] "Attempting to schedule pod" pod="default/web"\n',
        err.getvalue(),
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a b", '="a b"'),
        ('say "hi"\\', '="say \\"hi\\"\\\\"'),
        ("tab\tbell\a", '="tab\\tbell\\x07"'),
        ("naïve", '="naïve"'),
        (3, "=3"),
        (True, "=true"),
        (0.5, "=0.5"),
        (None, "=null"),
        (Duration.parse("1m30s"), '="1m30s"'),
        (POD, '="default/web"'),
        (make_node("a"), '="a"'),
        (klog.Ref("node1"), '="node1"'),
        (ValueError("no"), '="no"'),
        (["a", 1], '=["a",1]'),
        ({"a": POD}, '={"a":{"name":"web","namespace":"default"}}'),
        pytest.param({"b", "a"}, '=["a","b"]', id="a set"),
        ("one\ntwo\n", "=<\n\tone\n\ttwo\n >"),
    ],
    ids=lambda each: str(each)[:20],
)
def test_values_are_written_as_klog_does(value: object, text: str) -> None:
    """Strings quoted, objects by name, several lines indented, the rest as JSON."""
    err = written()

    log.info("said", key=value)

    assert err.getvalue().endswith(f'"said" key{text}\n')


def test_errors_come_first() -> None:
    """`err` is the first pair; a traceback follows the line."""
    err = written()
    try:
        raise RuntimeError("broken")
    except RuntimeError as error:
        log.error(error, "Attempt broke", trace=error, pod=POD)
    log.error(None, "Leaderelection lost")

    first, *_, last = err.getvalue().splitlines()
    assert first.startswith("E")
    assert first.endswith('] "Attempt broke" err="broken" pod="default/web"')
    assert "RuntimeError: broken" in err.getvalue()
    assert last.endswith('] "Leaderelection lost"')


def test_plain_logging_is_written_too() -> None:
    """Modules that know nothing of pairs."""
    err = written()

    logging.getLogger("bayplan.other").warning("%d events were not written", 3)

    assert re.fullmatch(r"W.*\] 3 events were not written\n", err.getvalue())


def test_verbosity_is_the_most_that_is_shown() -> None:
    """V(3) at --v=2 is not; and it can be changed while running."""
    err = io.StringIO()
    shown = klog.set_up(2, err=err)
    log.info("two", v=2)
    log.info("three", v=3)
    assert not log.enabled(3)

    shown.set(3)
    log.info("now", v=3)

    assert [line.split('"')[1] for line in err.getvalue().splitlines()] == ["two", "now"]


def test_vmodule_is_for_files() -> None:
    """The files that match have a verbosity of their own."""
    err = written(0, modules=[klog.VModule("test_k*", 4)])
    log.info("here", v=4)
    assert "here" in err.getvalue()

    err = written(0, modules=[klog.VModule("elsewhere", 4)])
    log.info("here", v=4)
    assert not err.getvalue()


def test_json_has_the_fields_of_component_base() -> None:
    """One object a line; objects with name and namespace; errors have no `v`."""
    err = written(2, form="json")
    log.info("Successfully bound pod to node", v=2, pod=POD, node="a", evaluatedNodes=4)
    log.error("refused", "Error scheduling pod; retrying", pod=POD)

    bound, failed = (json.loads(line) for line in err.getvalue().splitlines())

    assert re.fullmatch(r"observe/test_klog\.py:\d+", bound.pop("caller"))
    assert bound.pop("ts") > 1.7e12
    assert bound == {
        "msg": "Successfully bound pod to node",
        "v": 2,
        "pod": {"name": "web", "namespace": "default"},
        "node": "a",
        "evaluatedNodes": 4,
    }
    assert "v" not in failed
    assert failed["err"] == "refused"


def test_streams_can_be_split() -> None:
    """Errors to one, the rest to the other."""
    out = io.StringIO()
    err = written(split_stream=True, out=out)

    log.info("fine")
    log.error(None, "not fine")

    assert ('"fine"' in out.getvalue(), '"fine"' in err.getvalue()) == (True, False)
    assert ("not fine" in out.getvalue(), "not fine" in err.getvalue()) == (False, True)


# --- the short way of a line ----------------------------------------------------------------------

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.sampled_from([POD, make_node("a"), klog.Ref("b", "c"), Duration.parse("3s"), ValueError('"no"')]),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(), values, max_size=3),
    max_leaves=5,
)


class _Seen(logging.Handler):
    """Somebody else who listens."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@given(message=st.text(), pairs=st.dictionaries(st.sampled_from(["pod", "node", "err"]), VALUES))
def test_a_line_is_the_same_when_others_listen(message: str, pairs: dict[str, Any]) -> None:
    """Alone, a line is written the short way; the long way it is written by `logging`."""
    err, seen = written(2), _Seen()
    lines = []
    for handlers in ((), (seen,)):
        logging.getLogger().handlers[1:] = handlers
        err.truncate(err.seek(0))
        log.info(message, v=2, **pairs)
        lines.append(err.getvalue().split(" ", 3)[2:])  # without the time

    assert lines[0] == lines[1]
    assert seen.messages == [message]


@pytest.mark.parametrize("name", ["", "bayplan", "bayplan.test"])
def test_whoever_listens_is_told(name: str) -> None:
    """A handler that is added later, to any of the loggers above the message."""
    err, seen, logger = written(), _Seen(), logging.getLogger(name)
    logger.addHandler(seen)
    try:
        log.info("heard")
    finally:
        logger.removeHandler(seen)

    assert seen.messages == ["heard"]
    assert err.getvalue().count("heard") == 1


@pytest.mark.parametrize("name", ["bayplan", "bayplan.test"])
def test_a_logger_that_keeps_to_itself_is_not_shown(name: str) -> None:
    """`propagate` of any logger on the way."""
    err, logger = written(), logging.getLogger(name)
    logger.propagate = False
    try:
        log.info("kept")
    finally:
        logger.propagate = True

    assert not err.getvalue()


def test_filters_and_levels_of_the_handler_are_heeded() -> None:
    """Also those that were not there from the start."""
    err = written()
    handler = logging.getLogger().handlers[0]
    handler.addFilter(lambda record: "secret" not in record.getMessage())
    log.info("a secret")
    log.info("no such thing")
    handler.setLevel(logging.WARNING)
    log.info("nothing")

    assert [line.split('"')[1] for line in err.getvalue().splitlines()] == ["no such thing"]


def test_a_stream_that_cannot_be_written_to_is_told_by_logging(capsys: pytest.CaptureFixture[str]) -> None:
    """And nobody is held up."""
    written().close()

    log.info("lost")

    assert "--- Logging error ---" in capsys.readouterr().err
