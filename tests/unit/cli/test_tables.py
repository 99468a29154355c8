"""Tables: columns that line up, on a terminal and elsewhere."""

from __future__ import annotations

import sys

import pytest

from bayplan.cli.tables import plain_lines, print_table


def test_numbers_are_aligned_to_the_right() -> None:
    """Words to the left, numbers to the right, no spaces at the end."""
    assert plain_lines(("node", "score"), [("a", "7"), ("long-name", "100")], ("score",)) == [
        "node       score",
        "a              7",
        "long-name    100",
    ]


def test_the_last_column_is_wrapped() -> None:
    """What does not fit goes on below itself."""
    lines = plain_lines(("point", "plugins"), [("score", ", ".join(["Plugin"] * 20))])

    assert max(map(len, lines)) <= 100
    assert lines[2].startswith(" " * len("score  ") + "Plugin")


def test_a_terminal_gets_a_drawn_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Square brackets are text, not markup."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)

    print_table(("node", "reason"), [("a", "taint [x]")])

    output = capsys.readouterr().out
    assert "─" in output
    assert "taint [x]" in output
