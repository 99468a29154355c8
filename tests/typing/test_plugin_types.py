"""A type checker knows the contract: it accepts good plugins and refuses bad ones, line by line."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
GOOD, BAD = HERE / "good_plugins.py", HERE / "bad_plugins.py"
#: `path:12: error: what is wrong  [code]`
_ERROR = re.compile(r"^(.*?\.py):(\d+): error: (.*)$", re.MULTILINE)
_EXPECTED = "# refused: "


def _errors(*files: Path) -> dict[Path, dict[int, list[str]]]:
    """File → line → what mypy says about it, as strict as for Bayplan itself."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "mypy", "--no-pretty", *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    found: dict[Path, dict[int, list[str]]] = {file: defaultdict(list) for file in files}
    for path, line, text in _ERROR.findall(done.stdout):
        found[ROOT / path][int(line)].append(text)
    return found


@pytest.mark.timeout(1800)  # without a cache mypy reads all of Bayplan, and NumPy
def test_mypy_refuses_what_the_contract_refuses() -> None:
    """Good plugins pass, with hints and without. Every mistake of the bad ones is found, and nothing else is."""
    errors = _errors(GOOD, BAD)

    assert errors[GOOD] == {}
    lines = BAD.read_text().splitlines()
    # The line after the words.
    expected = {number: words for number, line in enumerate(lines, 2) if (words := line.partition(_EXPECTED)[2])}
    assert expected
    assert sorted(errors[BAD]) == sorted(expected)
    unlike = {number: said for number, said in errors[BAD].items() if expected[number] not in said[0]}
    assert unlike == {}
