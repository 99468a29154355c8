"""Logs read like those of a Kubernetes component."""

from __future__ import annotations

import io
import json
import logging
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.config.duration import Duration
from bayplan.observe import klog
from bayplan.testing import make_node, make_pod

POD = make_pod("web", namespace="default")


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
    """Modules that use `logging` without pairs."""
    err = written()

    logging.getLogger("bayplan.other").warning("%d events were not written", 3)

    assert re.fullmatch(r"W.*\] 3 events were not written\n", err.getvalue())


def test_verbosity_is_the_highest_that_is_written() -> None:
    """V(3) at --v=2 is not; and it can be changed while running."""
    err = io.StringIO()
    verbosity = klog.set_up(2, err=err)
    log.info("two", v=2)
    log.info("three", v=3)
    assert not log.enabled(3)

    verbosity.set(3)
    log.info("now", v=3)

    assert [line.split('"')[1] for line in err.getvalue().splitlines()] == ["two", "now"]


@pytest.mark.parametrize("name", ["", "bayplan", "bayplan.levels"])
def test_verbosity_follows_the_levels_of_logging(name: str) -> None:
    """Whichever logger above has a level, and whoever sets it."""
    levels, logger = klog.get_logger("bayplan.levels"), logging.getLogger(name)
    logging.getLogger().setLevel(logging.WARNING)
    logging.getLogger("bayplan").setLevel(logging.NOTSET)
    before = logger.level
    assert levels.verbosity == -10
    logger.setLevel(logging.INFO - 4)
    assert (levels.verbosity, levels.enabled(4), levels.enabled(5)) == (4, True, False)
    logging.disable(logging.INFO)
    assert levels.verbosity == -1
    logging.disable(logging.NOTSET)
    assert levels.verbosity == 4
    logger.setLevel(before)
    assert levels.verbosity == -10


def test_disabled_logger_writes_nothing() -> None:
    err, logger = written(3), logging.getLogger("bayplan.test")
    logger.disabled = True
    try:
        log.info("three", v=3)
        assert not log.enabled(3)
    finally:
        logger.disabled = False

    assert not err.getvalue()


def test_vmodule_is_for_files() -> None:
    """Files whose name matches have a verbosity of their own."""
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


# --- the fast path of a line ----------------------------------------------------------------------

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
    """Another handler."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@given(message=st.text(), pairs=st.dictionaries(st.sampled_from(["pod", "node", "err"]), VALUES))
def test_a_line_is_the_same_with_other_handlers(message: str, pairs: dict[str, Any]) -> None:
    """With the handler of `set_up` alone, a line is written directly; otherwise by `logging`."""
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
def test_added_handlers_get_lines(name: str) -> None:
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
def test_a_logger_that_does_not_propagate_writes_nothing(name: str) -> None:
    """Neither do its children."""
    err, logger = written(), logging.getLogger(name)
    logger.propagate = False
    try:
        log.info("kept")
    finally:
        logger.propagate = True

    assert not err.getvalue()


def test_filters_and_levels_of_the_handler_apply() -> None:
    """Also if they are set later."""
    err = written()
    handler = logging.getLogger().handlers[0]
    handler.addFilter(lambda record: "secret" not in record.getMessage())
    log.info("a secret")
    log.info("no such thing")
    handler.setLevel(logging.WARNING)
    log.info("nothing")

    assert [line.split('"')[1] for line in err.getvalue().splitlines()] == ["no such thing"]


def test_a_stream_that_was_closed_is_opened_again(capfd: pytest.CaptureFixture[str]) -> None:
    """A plugin may close standard error; what is behind it is still there."""
    written().close()

    log.info("found")
    log.error(None, "again")

    told = capfd.readouterr().err
    assert '"found"' in told
    assert '"again"' in told


class _Broken(io.StringIO):
    def write(self, text: str) -> int:
        raise OSError("disk full")


def test_a_line_that_cannot_be_written_is_reported_by_logging(capsys: pytest.CaptureFixture[str]) -> None:
    """And the caller goes on."""
    klog.set_up(err=_Broken())

    log.info("lost")

    assert "--- Logging error ---" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["", "my_plugin", "bayplan_plugin_rule_0123", "a.b.c"])
def test_loggers_of_plugins_obey_the_verbosity_whatever_their_name(name: str) -> None:
    """V(N) is N below INFO, so DEBUG is V(10)."""
    for verbosity, expected in ((0, ["said"]), (10, ["said", "whispered"])):
        err = written(verbosity)
        logging.getLogger(name).info("said")
        logging.getLogger(name).debug("whispered")
        assert [line.rpartition("] ")[2] for line in err.getvalue().splitlines()] == expected


def test_a_plugins_file_has_a_verbosity_of_its_own() -> None:
    err = written(0, modules=[klog.VModule("test_klog", 10)])
    logging.getLogger("my_plugin").debug("whispered")
    assert "whispered" in err.getvalue()
    err = written(0, modules=[klog.VModule("other", 10)])
    logging.getLogger("my_plugin").debug("whispered")
    assert err.getvalue() == ""


def test_lines_of_libraries_are_not_ours() -> None:
    err = written(10)
    for library in ("asyncio", "aiohttp.client"):
        logging.getLogger(library).info("chatter")
        logging.getLogger(library).warning("trouble")
    assert [line.rpartition("] ")[2] for line in err.getvalue().splitlines()] == ["trouble", "trouble"]


def test_a_logger_with_a_file_names_it(caplog: pytest.LogCaptureFixture) -> None:
    """Compiled modules have no frames: `--vmodule` finds their lines by the file that they give."""
    with caplog.at_level(logging.INFO):
        klog.Logger("bayplan.test_klog_file", "schedule_one.py").info("a message", pod="p")

    (record,) = caplog.records
    assert (record.filename, record.lineno, record.module) == ("schedule_one.py", 0, "schedule_one")
