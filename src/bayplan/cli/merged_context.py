"""`bayplan up --merge-kubeconfig`: a context in the user's own kubeconfig, for as long as the cluster runs.

Our entries carry an extension, which kubectl keeps when it rewrites the file. Only entries with it are ever
replaced or removed, and the current context is never chosen by us.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click
import yaml

from bayplan.cli.kubeconfig_text import EMPTY, with_entry, without_current_context, without_entry
from bayplan.cli.private_files import write_private
from bayplan.client.errors import AccessError
from bayplan.client.kubeconfig_file import Kubeconfig, parse_kubeconfig

CONTEXT: Final = "bayplan"
#: Section → the field of its entries.
_FIELDS: Final = {"clusters": "cluster", "users": "user", "contexts": "context"}
_MARK: Final = {"name": "bayplan.dev/up", "extension": {"provider": "bayplan"}}
#: kubectl holds its lock for some milliseconds.
_LOCK_SECONDS: Final = 5.0


def user_kubeconfig(environ: Mapping[str, str] | None = None) -> Path:
    """The file that kubectl adds contexts to: the first of `$KUBECONFIG` that exists, its last if none does."""
    env = os.environ if environ is None else environ
    files = [Path(each).expanduser() for each in env.get("KUBECONFIG", "").split(os.pathsep) if each]
    if not files:
        return Path(env.get("HOME", "~")).expanduser() / ".kube" / "config"
    return next((file for file in files if file.exists()), files[-1])


def check_mergeable(path: Path) -> None:
    """Raise ClickException if a context cannot be added to the file."""
    _without_ours(_read(path), path)


def add_context(path: Path, kubeconfig: str) -> None:
    """Add the cluster, user and context of *kubeconfig* to the file; one of an earlier run is replaced."""
    new = yaml.safe_load(kubeconfig)
    with _locked(path):
        text = _without_ours(_read(path), path)
        for section, field in _FIELDS.items():
            entry = new[section][0]
            text = with_entry(text, section, {"name": CONTEXT, field: {**entry[field], "extensions": [_MARK]}})
        _write(path, text)


def remove_context(path: Path, server: str) -> None:
    """Remove our entries from the file, unless they are of another cluster by now."""
    if not path.exists():
        return
    with _locked(path):
        text = _read(path)
        cluster = parse_kubeconfig(text, str(path)).entry("clusters", CONTEXT)
        if cluster is None or cluster.get("server") != server:
            return
        text = _without_ours(text, path)
        if parse_kubeconfig(text, str(path)).current_context == CONTEXT:
            text = without_current_context(text)
        if text == EMPTY:
            os.unlink(os.path.realpath(path))
        else:
            _write(path, text)


def _without_ours(text: str, path: Path) -> str:
    """*text* without our entries; ClickException if entries of others have our name."""
    for section, field in _FIELDS.items():
        file = parse_kubeconfig(text, str(path))
        for position in reversed([i for i, name in enumerate(file.names(section)) if name == CONTEXT]):
            entry = file.entries(section)[position]
            if not _is_ours(entry.get(field)):
                raise click.ClickException(
                    f"{path} has a {field} {CONTEXT!r} that bayplan did not add; rename it, or use the kubeconfig "
                    "of --write-kubeconfig instead of --merge-kubeconfig"
                )
            text = without_entry(text, section, position)
    return text


def _is_ours(value: Any) -> bool:
    extensions = value.get("extensions") if isinstance(value, Mapping) else None
    return isinstance(extensions, list) and _MARK in extensions


# --- the file -----------------------------------------------------------------------------------------------


def _read(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        if not text.strip():
            return EMPTY
        _check_layout(parse_kubeconfig(text, str(path)))
    except AccessError as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        raise click.ClickException(f"cannot read the kubeconfig {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise click.ClickException(f"the kubeconfig {path} is not text in UTF-8: {error}") from error
    return text


def _check_layout(file: Kubeconfig) -> None:
    """Raise AccessError if a section is not a list of entries, or an entry of our name is not a mapping."""
    for section in _FIELDS:
        file.entry(section, CONTEXT)


def _write(path: Path, text: str) -> None:
    try:
        write_private(path, text)
    except OSError as error:
        raise click.ClickException(f"cannot write the kubeconfig {path}: {error.strerror}") from error


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keeps kubectl from writing at the same time: with the lock file that it uses."""
    lock = path.with_name(f"{path.name}.lock")
    end = time.monotonic() + _LOCK_SECONDS
    while not _create(lock):
        if time.monotonic() > end:
            raise click.ClickException(f"{path} is being written by another program; if not, delete {lock}")
        time.sleep(0.05)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)


def _create(lock: Path) -> bool:
    try:
        lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return False
    except OSError as error:
        raise click.ClickException(f"cannot create {lock}: {error.strerror}") from error
    return True
