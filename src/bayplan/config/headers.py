"""Reads the `apiVersion` and `kind` of a file, and checks that they are supported."""

from __future__ import annotations

import msgspec

from bayplan.config.api_object import API_VERSION, GROUP
from bayplan.config.field_path import ROOT
from bayplan.config.problems import FieldError, did_you_mean
from bayplan.config.schema import fields_of
from bayplan.config.source import SyntaxProblem, read_text
from bayplan.config.tree import Mapping, Node, Scalar, describe, is_null, plain
from bayplan.config.types import KIND, KubeSchedulerConfiguration

BETA_VERSIONS = ("v1beta1", "v1beta2", "v1beta3")
POLICY = "Policy"
POLICY_API_VERSIONS = ("v1", API_VERSION)


class Header(msgspec.Struct, frozen=True):
    """`version` is `v1`, one of the betas, or `Policy`."""

    version: str
    errors: tuple[FieldError, ...] = ()
    #: False if the file is no scheduler configuration at all, so that its fields need no check.
    readable: bool = True


def read_header(root: Node | None) -> Header:
    """Determine the version of a file from its root."""
    if root is None or is_null(root):
        hint = f"it needs apiVersion: {API_VERSION} and kind: {KIND}"
        return _unreadable(FieldError(ROOT / "kind", "the file is empty", hint))
    if not isinstance(root, Mapping):
        return _unreadable(FieldError(ROOT, f"the file contains {describe(root)}", f"a {KIND} is a mapping"))
    api_version, kind, errors = _string(root, "apiVersion"), _string(root, "kind"), []
    if kind == POLICY and api_version in POLICY_API_VERSIONS:
        return Header(POLICY)
    if kind == KIND and api_version == API_VERSION:
        return Header("v1")
    if kind == KIND and api_version.removeprefix(f"{GROUP}/") in BETA_VERSIONS:
        return Header(api_version.removeprefix(f"{GROUP}/"))
    if kind == "ConfigMap":
        return _unreadable(_config_map_error(root))
    errors = [_field_error(root, "kind", kind, KIND), _field_error(root, "apiVersion", api_version, API_VERSION)]
    is_ours = any(entry.key in fields_of(KubeSchedulerConfiguration) for entry in root.entries)
    return Header("v1", tuple(error for error in errors if error), readable=is_ours)


def _unreadable(error: FieldError) -> Header:
    return Header("v1", (error,), readable=False)


def _string(root: Mapping, key: str) -> str:
    node = root.get(key)
    return node.value if isinstance(node, Scalar) and isinstance(node.value, str) else ""


def _field_error(root: Mapping, key: str, value: str, wanted: str) -> FieldError | None:
    if value == wanted:
        return None
    node = root.get(key)
    if node is not None and not is_null(node) and not (isinstance(node, Scalar) and isinstance(node.value, str)):
        return FieldError(ROOT / key, f"{describe(node)} is not a string", f'write "{wanted}"')
    if not value:
        return FieldError(ROOT / key, "a value is required", f'write "{wanted}"')
    known = [wanted, *(f"{GROUP}/{beta}" for beta in BETA_VERSIONS)] if key == "apiVersion" else [wanted, POLICY]
    hint = did_you_mean(value, known) or f'this is no scheduler configuration; its {key} is "{wanted}"'
    return FieldError(ROOT / key, f'the {key} "{value}" is not known for a {KIND}', hint)


def _config_map_error(root: Mapping) -> FieldError:
    """A ConfigMap often contains the file; names the key that does."""
    data = root.get("data")
    for entry in data.entries if isinstance(data, Mapping) else ():
        inner = _kind_inside(plain(entry.value))
        if inner:
            message = f'this is a ConfigMap; its data key "{entry.key}" contains a {inner}'
            return FieldError(ROOT / "data" / entry.key, message, "save it as a separate file")
    return FieldError(ROOT / "kind", f"this is a ConfigMap, not a {KIND}", "and no key of its data contains one")


def _kind_inside(text: object) -> str:
    if not isinstance(text, str):
        return ""
    try:
        root = read_text(text).root
    except SyntaxProblem:
        return KIND if KIND in text else ""
    kind = _string(root, "kind") if isinstance(root, Mapping) else ""
    return kind if kind in (KIND, POLICY) else ""
