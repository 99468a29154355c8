"""Files that only their owner can read: they contain tokens, or name processes that will be signalled."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def state_folder() -> Path:
    """Where the files of `bayplan up` are: `$XDG_STATE_HOME/bayplan`, by default ~/.local/state/bayplan."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "bayplan"


def write_private(path: Path, text: str) -> None:
    """Write the whole file or nothing, readable by the owner only from the first byte on. Raises OSError.

    Whoever waits for the file never reads half of it. If *path* is a link, the file that it leads to is written.
    """
    target = Path(os.path.realpath(path))
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}-", dir=target.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise
