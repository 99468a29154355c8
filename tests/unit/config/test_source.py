"""Reading YAML and JSON: positions, equal keys, and texts that cannot be read."""

from __future__ import annotations

import pytest

from bayplan.config.field_path import Path
from bayplan.config.problems import Mark
from bayplan.config.source import SyntaxProblem, read_text
from bayplan.config.tree import Node, locate, plain


def root_of(text: str) -> Node:
    root = read_text(text).root
    assert root is not None
    return root


@pytest.mark.parametrize(
    "text",
    ["a:\n- b: 1\n  c: [x]\n", '{"a": [\n{"b": 1,\n"c": ["x"]}]}'],
    ids=["yaml", "json"],
)
def test_positions_of_keys_and_items(text: str) -> None:
    """A field is where its key is, an item where it starts; a missing one is where its parent is."""
    root = root_of(text)

    assert plain(root) == {"a": [{"b": 1, "c": ["x"]}]}
    assert locate(root, Path.parse("a")).line == 1
    assert locate(root, Path.parse("a[0].b")).line == 2
    assert locate(root, Path.parse("a[0].c[0]")).line == 3
    assert locate(root, Path.parse("a[0].missing.deeper")) == locate(root, Path.parse("a[0]"))


@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        ("a:\n  b: 1\n  c: 2\n  b: 3\n", 2, 4),
        ('{"a": {"b": 1,\n"b": 2}}', 1, 2),
    ],
    ids=["yaml", "json"],
)
def test_equal_keys_are_reported_with_both_places(text: str, first: int, second: int) -> None:
    """The second of two equal keys is an error that names the first."""
    (error,) = read_text(text).errors

    assert str(error.path) == "a.b"
    assert error.mark is not None
    assert error.mark.line == second
    assert f"the first is in line {first}" in error.message
    assert "merge the two" in error.hint


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        pytest.param("a: 1\n\tb: 2\n", 2, "tab", id="tab"),
        pytest.param("a: 1\nb: [\n", 3, "left open", id="unclosed list"),
        pytest.param("a: 'x\n", 2, "left open", id="unclosed quote"),
        pytest.param("a: 1\nb: *x\n", 2, "undefined alias", id="undefined alias"),
        pytest.param("a: &x [*x]\n", 1, "contains itself", id="recursive anchor"),
        pytest.param("a:\n  b: // c\n  // d\n", 3, "comments start with #", id="slashes for a comment"),
        pytest.param("? [a]\n: b\n", 1, "a key must be a string", id="list as key"),
        pytest.param("~: b\n", 1, "a key must be a string", id="null as key"),
        pytest.param("a: {<<: 5}\n", 1, "takes a mapping", id="merge of a scalar"),
        pytest.param("%YAML 1.2\n---\na: 1\n", 1, "1.1", id="another version of YAML"),
        pytest.param("a: \x01\n", 1, "not allowed", id="control character"),
        pytest.param('{"a" 1}', 1, "a colon is expected", id="json without a colon"),
        pytest.param('{"a": 1 "b": 2}', 1, "a comma", id="json without a comma"),
        pytest.param("{a: 1}", 1, "double quotes", id="json with a bare key"),
        pytest.param('{"a": // c\n1}', 1, "no comments", id="json with a comment"),
        pytest.param('{"a": 1} x', 1, "text follows", id="json and more"),
        pytest.param('{"a": [', 1, "ends too early", id="json that ends"),
        pytest.param('{"a": "x', 1, "nterminated", id="json with an open string"),
        pytest.param('{"a": 01}', 1, "comma", id="json with a leading zero"),
    ],
)
def test_unreadable_texts(text: str, line: int, words: str) -> None:
    """A text that cannot be read is one problem with its line and, where we know it, the remedy."""
    with pytest.raises(SyntaxProblem) as caught:
        read_text(text)

    assert caught.value.mark.line == line
    assert words in f"{caught.value.message}; {caught.value.hint}"


def test_trailing_comma_in_json_is_reported_and_read_over() -> None:
    """A comma too many is an error, but the rest of the file is still looked at."""
    parsed = read_text('{"a": [1,\n2,\n], "b": 3}')

    assert parsed.root is not None
    assert plain(parsed.root) == {"a": [1, 2], "b": 3}
    assert [(error.mark, error.hint) for error in parsed.errors] == [(Mark(2, 2), "remove the comma")]


def test_only_the_first_document_counts() -> None:
    """As for kube-scheduler; what follows may even be broken."""
    parsed = read_text("a: 1\n---\n[\n")

    assert parsed.more_documents
    assert parsed.root is not None
    assert plain(parsed.root) == {"a": 1}


def test_merge_keys_and_aliases() -> None:
    """`<<` brings in the entries of a mapping; an alias is its anchor again."""
    root = root_of("x: &x {a: 1}\nw: {<<: *x, b: 2}\nz: *x\n")

    assert plain(root) == {"x": {"a": 1}, "w": {"a": 1, "b": 2}, "z": {"a": 1}}


def test_overriding_a_merged_key_is_refused() -> None:
    """kube-scheduler's strict reader takes it for an equal key."""
    assert [str(error.path) for error in read_text("w: {<<: {a: 1}, a: 2}\n").errors] == ["w.a"]


def test_aliases_cannot_explode(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text of a few lines must not stand for millions of values."""
    monkeypatch.setattr("bayplan.config.yamltext.MAX_VALUES", 1000)
    levels = "".join(f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 9)}]\n" for i in range(1, 9))

    with pytest.raises(SyntaxProblem, match="too many values"):
        read_text("l0: &l0 [x]\n" + levels)


@pytest.mark.parametrize("text", ["a: " + "[" * 5000 + "]" * 5000, '{"a": ' + "[" * 5000], ids=["yaml", "json"])
def test_deep_nesting_is_refused(text: str) -> None:
    """A text must not bring the reader down."""
    with pytest.raises(SyntaxProblem, match="nested too deeply"):
        read_text(text)


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n"], ids=["empty", "a comment", "a mark"])
def test_empty_texts_have_no_root(text: str) -> None:
    """Nothing is not an error of reading; what is missing is said later."""
    root = read_text(text).root

    assert root is None or plain(root) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: !!str 5", "5"),
        ("a: '5'", "5"),
        ('a: !!int "5"', 5),
        ("a: !mine 5", "5"),
        ("a: !!binary aGk=", "hi"),
        ("a: |\n  yes\n", "yes\n"),
    ],
)
def test_tags_and_quotes(text: str, value: object) -> None:
    """Quotes and tags say what an unquoted scalar leaves open."""
    assert plain(root_of(text)) == {"a": value}


def test_numbers_that_json_cannot_hold() -> None:
    """Infinity and NaN are errors, wherever they stand."""
    assert [str(error.path) for error in read_text("a: .inf\nb: [.nan]\n").errors] == ["a", "b[0]"]


@pytest.mark.parametrize(("text", "value"), [("4", 4), ("4.0", 4.0), ("1e1", 10.0), ("true", True)])
def test_json_numbers_keep_their_form(text: str, value: object) -> None:
    """In JSON a number with a point or an exponent is not a whole number."""
    read = plain(root_of(f'{{"a": {text}}}'))["a"]

    assert read == value
    assert type(read) is type(value)
