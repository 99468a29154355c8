"""One kubeconfig file: its sections, entries and values, with errors that name the file and the field."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from bayplan.client.certificates import Pem
from bayplan.client.errors import AccessError

_SECTION_FIELD = {"contexts": "context", "clusters": "cluster", "users": "user"}


def read_kubeconfig(path: str) -> Kubeconfig:
    """Raises AccessError."""
    try:
        text = Path(path).expanduser().read_bytes()
    except OSError as error:
        raise AccessError(f"cannot read the kubeconfig {path}: {error.strerror}") from None
    return parse_kubeconfig(text, path)


def parse_kubeconfig(text: str | bytes, path: str) -> Kubeconfig:
    """The content of the file *path*; raises AccessError."""
    try:
        content = yaml.load(text, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError, AttributeError, RecursionError) as error:
        # PyYAML lets the errors of its scalars through: a date in month 13, `!!int x`, `!!timestamp 1`.
        raise AccessError(f"the kubeconfig {path} is not YAML: {error}") from None
    if not isinstance(content, Mapping):
        raise AccessError(f"the kubeconfig {path} is empty" if not content else f"{path} is not a kubeconfig")
    if content.get("kind") not in (None, "Config"):
        raise AccessError(f"{path} is a {content['kind']}, not a kubeconfig (kind: Config)")
    return Kubeconfig(Path(path).expanduser(), content)


class Kubeconfig:
    """The content of one file."""

    def __init__(self, path: Path, content: Mapping[str, Any]) -> None:
        self.path = path
        self._content = content
        self.current_context = str(content.get("current-context") or "")

    def error(self, message: str) -> AccessError:
        return AccessError(f"{self.path}: {message}")

    def names(self, section: str) -> list[str]:
        return [str(each.get("name")) for each in self.entries(section)]

    def entry(self, section: str, name: str) -> Mapping[str, Any] | None:
        """The cluster, user or context called *name*; the first of several."""
        for each in self.entries(section):
            if str(each.get("name")) == name:
                value = each.get(_SECTION_FIELD[section]) or {}
                if not isinstance(value, Mapping):
                    raise self.error(f"{section[:-1]} {name!r} is not a mapping")
                return value
        return None

    def entries(self, section: str) -> list[Mapping[str, Any]]:
        entries = self._content.get(section) or []
        if not isinstance(entries, list) or not all(isinstance(each, Mapping) for each in entries):
            raise self.error(f"{section} is not a list of named entries")
        return entries

    # --- values -------------------------------------------------------------------------------------------

    def text(self, mapping: Mapping[str, Any], field: str, where: str, *, required: bool = False) -> str:
        value = mapping.get(field)
        if value is None or value == "":
            if required:
                raise self.error(f"{where}: {field} is missing")
            return ""
        if isinstance(value, (Mapping, list)):
            raise self.error(f"{where}: {field} is not a text")
        return str(value)

    def texts(self, mapping: Mapping[str, Any], field: str, where: str) -> tuple[str, ...]:
        values = mapping.get(field) or []
        if not isinstance(values, list):
            raise self.error(f"{where}: {field} is not a list")
        return tuple(str(value) for value in values)

    def pairs(self, mapping: Mapping[str, Any], field: str, where: str) -> tuple[tuple[str, str], ...]:
        """A list of names with values."""
        values = mapping.get(field) or []
        if not isinstance(values, list) or not all(isinstance(each, Mapping) for each in values):
            raise self.error(f"{where}: {field} is not a list of names with values")
        return tuple((self.text(each, "name", f"{where}: {field}"), str(each.get("value", ""))) for each in values)

    def resolve(self, path: str) -> str:
        """Paths in a kubeconfig are relative to its directory."""
        return str(self.path.parent / path) if path else ""

    def pem(self, mapping: Mapping[str, Any], field: str, where: str) -> Pem:
        """`<field>-data`, which wins, or the file that `<field>` names."""
        encoded = self.text(mapping, f"{field}-data", where)
        if not encoded:
            return Pem(file=self.resolve(self.text(mapping, field, where)))
        try:
            return Pem(data=base64.b64decode("".join(encoded.split()), validate=True))
        except (binascii.Error, ValueError):
            raise self.error(f"{where}: {field}-data is not base64") from None

    def impersonation(self, user: Mapping[str, Any], where: str) -> tuple[tuple[str, str], ...]:
        """Headers for `as`, `as-uid`, `as-groups` and `as-user-extra`."""
        headers = []
        if name := self.text(user, "as", where):
            headers.append(("Impersonate-User", name))
        if uid := self.text(user, "as-uid", where):
            headers.append(("Impersonate-Uid", uid))
        headers += [("Impersonate-Group", group) for group in self.texts(user, "as-groups", where)]
        extra = user.get("as-user-extra") or {}
        if not isinstance(extra, Mapping):
            raise self.error(f"{where}: as-user-extra is not a mapping")
        for key in extra:
            headers += [(f"Impersonate-Extra-{key}", value) for value in self.texts(extra, key, where)]
        return tuple(headers)
