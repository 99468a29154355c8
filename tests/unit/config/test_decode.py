"""The strict decoder: every wrong field is reported, with its path and what would be right."""

from __future__ import annotations

from typing import Literal

import pytest
from tests.unit.config.plugin_facts import loaded, refusal

from bayplan.config.api_object import ApiObject, Int32
from bayplan.config.decode import Decoder
from bayplan.config.duration import Duration
from bayplan.config.field_path import ROOT
from bayplan.config.source import read_text
from bayplan.config.types import KubeSchedulerConfiguration


class Inner(ApiObject):
    count: Int32 = 3


class Sample(ApiObject):
    number: Int32 = 1
    ratio: float = 0.5
    name: str = "x"
    flag: bool = True
    wait: Duration = Duration.seconds(1)
    mode: Literal["Least", "Most"] = "Least"
    data: bytes = b""
    labels: dict[str, str] = {}  # noqa: RUF012 - msgspec copies the default
    inner: Inner = Inner()
    many: tuple[Inner, ...] = ()
    pointer: Int32 | None = None


def decode(text: str) -> tuple[Sample, list[str]]:
    root = read_text(text).root
    assert root is not None
    decoder = Decoder()
    value: Sample = decoder.decode_object(root, Sample, ROOT)
    return value, [f"{error.path}: {error.message}; {error.hint}" for error in decoder.errors]


def test_all_kinds_of_fields() -> None:
    """Names are camel case in the file; a list becomes a tuple."""
    value, errors = decode(
        "{number: 4.0, ratio: 2, name: me, flag: off, wait: 2m, mode: Most, data: aGk=, labels: {a: b},"
        " inner: {count: 5}, many: [{count: 6}, {}], pointer: 0}".replace("{number", "---\n{number", 1)
    )

    assert errors == []
    assert value == Sample(
        number=4,
        ratio=2.0,
        name="me",
        flag=False,
        wait=Duration.seconds(120),
        mode="Most",
        data=b"hi",
        labels={"a": "b"},
        inner=Inner(count=5),
        many=(Inner(count=6), Inner()),
        pointer=0,
    )


def test_null_leaves_the_default() -> None:
    """As in Go, null says nothing, in a list as well."""
    value, errors = decode("number: null\nname:\ninner: ~\nmany: [~]\n")

    assert errors == []
    assert value == Sample(many=(Inner(),))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('number: "16"', 'number: the string "16" is not a whole number; write 16 without quotes'),
        ("number: 1.5", "number: the number 1.5 is not a whole number; "),
        (
            "number: 2147483648",
            "number: 2147483648 is out of range; between -2147483648 and 2147483647 is possible",
        ),
        ("number: true", "number: the boolean true is not a whole number; "),
        ("name: 7", 'name: the number 7 is not a string; write "7" in quotes'),
        ("name: yes", 'name: the boolean true is not a string; write "true" in quotes'),
        ('flag: "true"', 'flag: the string "true" is not true or false; write true without quotes'),
        ("wait: 5", "wait: the number 5 is not a duration; write 5s for seconds"),
        ('wait: "5"', 'wait: "5" is a duration without a unit; write 5s for 5 seconds'),
        ("mode: most", 'mode: the string "most" is not one of "Least" or "Most"; did you mean "Most"?'),
        ("data: '###'", "data: this is not base64 text; "),
        ("inner: [a]", "inner: a list is not a mapping; "),
        ("many: {a: b}", "many: a mapping is not a list; "),
        ("many: [{count: x}]", 'many[0].count: the string "x" is not a whole number; '),
        ("numbr: 1", 'numbr: unknown field; did you mean "number"?'),
        ("Number: 1", 'Number: unknown field; did you mean "number"?'),
        ("inner: {qqq: 1}", "inner.qqq: unknown field; known here: count"),
        ("labels: {a: 5}", 'labels.a: the number 5 is not a string; write "5" in quotes'),
        ("ratio: x", 'ratio: the string "x" is not a number; '),
    ],
)
def test_wrong_values(text: str, said: str) -> None:
    """A wrong value is named with its path, what it is and what would be right."""
    value, errors = decode(text)

    assert errors == [said]
    assert value.number == 1


def test_all_errors_at_once() -> None:
    """One wrong field does not hide another."""
    _, errors = decode("number: x\nname: 7\nbogus: 1\nmany: [{count: y}, {z: 1}]\n")

    assert [error.split(":")[0] for error in errors] == ["number", "name", "bogus", "many[0].count", "many[1].z"]


def test_a_required_field_is_asked_for() -> None:
    """A field without a default must be there."""

    class Strict(ApiObject):
        mode: str

    root = read_text("{}").root
    assert root is not None
    decoder = Decoder()
    decoder.decode_object(root, Strict, ROOT)

    assert [(str(error.path), error.message) for error in decoder.errors] == [("mode", "a value is required")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("schedulerName: mine", "schedulerName: unknown field; schedulerName belongs under profiles[]"),
        (
            "algorithmSource: {provider: x}",
            "algorithmSource: unknown field; it was removed; configure profiles instead",
        ),
        ("profiles: [{weight: 5}]", "profiles[0].weight: unknown field; weight belongs further in"),
        ("percentageOfNodeToScore: 5", 'unknown field; did you mean "percentageOfNodesToScore"?'),
        (
            "extenders: [{enableHttps: true}]",
            'extenders[0].enableHttps: unknown field; did you mean "enableHTTPS"?',
        ),
    ],
)
def test_where_a_field_belongs(text: str, said: str) -> None:
    """A field that is known elsewhere is told its place; a misspelt one the nearest name."""
    assert said in refusal(text)[0]


def test_null_for_a_duration_that_cannot_be_null() -> None:
    """Go reads null as an empty string where the field is not a pointer, and refuses that."""
    assert refusal("leaderElection: {leaseDuration: null}") == [
        "scheduler.yaml:3: leaderElection.leaseDuration: null is not a duration; "
        "leave the field out to get its default"
    ]


@pytest.mark.parametrize(("text", "printed"), [("0.1", 0.1), ("16777217", 16777216), ("0.123456789", 0.12345679)])
def test_single_precision(text: str, printed: float) -> None:
    """qps is a 32-bit number in Go and is printed as the shortest text that gives it back."""
    effective = loaded(f"clientConnection: {{qps: {text}}}").effective()

    assert effective["clientConnection"]["qps"] == printed


def test_single_precision_overflow() -> None:
    """A number too large for 32 bits is out of range."""
    assert "out of range" in refusal("clientConnection: {qps: 1e39}")[0]


def test_every_field_of_the_configuration_is_camel_case() -> None:
    """The names in the file are those of the API."""
    root = read_text("enableContentionProfiling: true\npodInitialBackoffSeconds: 2\n").root
    assert root is not None
    decoder = Decoder(KubeSchedulerConfiguration)
    decoder.decode_object(root, KubeSchedulerConfiguration, ROOT)

    assert decoder.errors == []
