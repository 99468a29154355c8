"""ConfigMaps and Secrets: keys, sizes, immutability."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.registry.rest_strategy import Object, RestStrategy
from bayplan.apiserver.validation.field_errors import each, forbidden, immutable, invalid, required, too_long
from bayplan.apiserver.validation.name_validation import config_key_errors

MAX_BYTES = 1024 * 1024
#: Secret type → the keys that its data must have.
_NEEDED_KEYS = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_JSON_TYPES = ("kubernetes.io/dockercfg", "kubernetes.io/dockerconfigjson")
_ACCOUNT_NAME = "kubernetes.io/service-account.name"


class ConfigMapStrategy(RestStrategy):
    """core/v1 ConfigMap."""

    def validate(self, obj: Object) -> list[StatusCause]:
        data, binary = obj.get("data", {}), obj.get("binaryData", {})
        found = [*_key_causes(data, "data"), *_key_causes(binary, "binaryData")]
        twice = "duplicate of key present in binaryData"
        found += [invalid(f"data[{key}]", key, twice) for key in data.keys() & binary.keys()]
        size = sum(len(value.encode()) for value in data.values()) + sum(map(_decoded_size, binary.values()))
        if size > MAX_BYTES:
            found.append(too_long("[]", MAX_BYTES))
        return found

    def validate_update(self, new: Object, old: Object) -> list[StatusCause]:
        return [*_frozen_causes(new, old, ("data", "binaryData")), *self.validate(new)]


class SecretStrategy(RestStrategy):
    """core/v1 Secret."""

    selectable_fields = ("type",)

    def default(self, obj: Object) -> None:
        if not obj.get("type"):
            obj["type"] = "Opaque"

    def prepare_create(self, obj: Object) -> None:
        _merge_string_data(obj)

    def prepare_update(self, new: Object, old: Object) -> None:
        _merge_string_data(new)
        if not new.get("type"):
            new["type"] = old.get("type", "Opaque")

    def validate(self, obj: Object) -> list[StatusCause]:
        data = obj.get("data", {})
        found = list(_key_causes(data, "data"))
        if sum(map(_decoded_size, data.values())) > MAX_BYTES:
            found.append(too_long("data", MAX_BYTES))
        return [*found, *_type_causes(obj, data)]

    def validate_update(self, new: Object, old: Object) -> list[StatusCause]:
        found = immutable("type", new.get("type"), old.get("type"))
        return [*found, *_frozen_causes(new, old, ("data",)), *self.validate(new)]

    def fields(self, obj: Object) -> Mapping[str, str]:
        return {"type": obj.get("type", "")}


def _merge_string_data(obj: Object) -> None:
    """stringData is write-only: it is merged into data."""
    plain = obj.pop("stringData", None)
    if plain:
        data = obj.setdefault("data", {})
        for key, value in plain.items():
            data[key] = base64.b64encode(value.encode()).decode()


def _key_causes(data: Mapping[str, str], field: str) -> Iterator[StatusCause]:
    for key in data:
        yield from each(f"{field}[{key}]", key, config_key_errors(key))


def _decoded_size(text: str) -> int:
    return len(text) * 3 // 4 - text.count("=", -2)


def _frozen_causes(new: Object, old: Object, fields: tuple[str, ...]) -> Iterator[StatusCause]:
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        yield forbidden("immutable", "field is immutable when `immutable` is set")
    for field in fields:
        if new.get(field, {}) != old.get(field, {}):
            yield forbidden(field, "field is immutable when `immutable` is set")


def _type_causes(obj: Object, data: Mapping[str, str]) -> Iterator[StatusCause]:
    kind = obj.get("type", "")
    for key in _NEEDED_KEYS.get(kind, ()):
        if key not in data:
            yield required(f"data[{key}]")
        elif kind in _JSON_TYPES and not _is_json_object(data[key]):
            yield invalid(f"data[{key}]", "<secret contents redacted>", "not a JSON object")
    if kind == "kubernetes.io/basic-auth" and not data.keys() & {"username", "password"}:
        yield required("data[username]")
        yield required("data[password]")
    named = obj["metadata"].get("annotations", {}).get(_ACCOUNT_NAME)
    if kind == "kubernetes.io/service-account-token" and not named:
        yield required(f"metadata.annotations[{_ACCOUNT_NAME}]")


def _is_json_object(encoded: str) -> bool:
    try:
        return isinstance(json.loads(base64.b64decode(encoded)), dict)
    except ValueError:
        return False
