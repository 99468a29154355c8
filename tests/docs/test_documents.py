"""The documents tell the truth: their Python runs, their commands print what is shown, their links exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*/README.md")])
#: Commands that are shown for people and not run here: they make environments or take minutes.
NOT_RUN = ("make ", "git ", "pip ", "python -m pytest")
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)#:]+)(?:#[^)]*)?\)")


def _blocks(document: Path, language: str) -> list[str]:
    return [text for found, text in _FENCE.findall(document.read_text()) if found == language]


def _commands(document: Path) -> Iterator[tuple[str, str]]:
    """(command, what is shown of its output) for everything after a `$ `."""
    for block in _blocks(document, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            if not command.startswith(NOT_RUN):
                yield command, output


def _named(document: Path) -> str:
    return str(document.relative_to(ROOT))


WITH_PYTHON = [document for document in DOCUMENTS if _blocks(document, "python")]
COMMANDS = [
    pytest.param(document, command, output, id=f"{_named(document)}: {command}")
    for document in DOCUMENTS
    for command, output in _commands(document)
    if output
]


@pytest.mark.parametrize("document", WITH_PYTHON, ids=_named)
def test_every_python_block_runs(document: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a document are one program; its `assert`s are part of it."""
    module = types.ModuleType(f"document_{document.stem.replace('-', '_')}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.chdir(ROOT)
    for number, block in enumerate(_blocks(document, "python"), start=1):
        exec(compile(block, f"{_named(document)}, block {number}", "exec"), module.__dict__)  # noqa: S102


@pytest.mark.parametrize(("document", "command", "shown"), COMMANDS)
def test_commands_print_what_is_shown(document: Path, command: str, shown: str) -> None:
    """Run where the document stands; a line of three dots stands for any number of lines."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(  # noqa: S603  commands of our own documents
        ["/bin/bash", "-c", command],
        cwd=document.parent,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )

    pattern = "".join(
        r"(?:.*\n)*?" if line == "..." else re.escape(line) + r"[ ]*\n" for line in shown.rstrip("\n").split("\n")
    )
    # Standard error is part of it where it is shown; elsewhere it may hold logs.
    printed = [done.stdout, done.stdout + done.stderr]
    assert any(re.fullmatch(pattern, text.rstrip("\n") + "\n") for text in printed), printed[-1]


@pytest.mark.parametrize("document", DOCUMENTS, ids=_named)
def test_links_lead_to_files(document: Path) -> None:
    """Relative links name files of the repository."""
    targets = [link for link in _LINK.findall(document.read_text()) if not link.startswith("http")]

    assert [target for target in targets if not (document.parent / target).exists()] == []
