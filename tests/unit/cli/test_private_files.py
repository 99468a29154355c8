"""Files for their owner alone, written as a whole."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from bayplan.cli.private_files import state_folder, write_private


def test_nobody_else_can_read(tmp_path: Path) -> None:
    """The folders that are made for it included."""
    path = tmp_path / "state" / "bayplan" / "file"
    write_private(path, "secret")
    assert path.read_text() == "secret"
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (0o600, 0o700)


def test_failure_leaves_the_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before")
    with pytest.raises(UnicodeEncodeError):
        write_private(path, "\ud800")
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["file"]


def test_folder_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert state_folder() == tmp_path / "bayplan"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert state_folder() == tmp_path / ".local" / "state" / "bayplan"
