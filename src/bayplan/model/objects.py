"""Top-level objects: typed values decoded from JSON, which keep the original at hand.

In come the bytes of a watch event or a mapping; out go immutable objects with a name, a key and typed fields.
The typed fields are those a scheduler reads; `raw` is the whole object, decoded from the bytes when first
asked for. Derived values are memoised on the object (`functools.cached_property`), safe since it never changes.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, Self, TypeVar

import msgspec

from bayplan.model.base import json_name
from bayplan.model.memo import cached_property
from bayplan.model.meta import ObjectMeta
from bayplan.model.nulls import without_nulls

_NO_META = ObjectMeta()
_T = TypeVar("_T", bound="KubeObject")


class ObjectError(ValueError):
    """An object that cannot be decoded: which one, where and why."""

    def __init__(self, kind: str, key: str, path: str, reason: str) -> None:
        self.kind = kind
        self.key = key
        self.path = path
        self.reason = reason
        name = f"{kind} {key}" if key else kind
        super().__init__(f"{name}: {path}: {reason}" if path else f"{name}: {reason}")


class KubeObject(
    msgspec.Struct, frozen=True, kw_only=True, rename=json_name, omit_defaults=True, dict=True, weakref=True
):
    """An object of the API. Equal when its typed fields are equal; hashed by its name, so hashing is cheap."""

    KIND: ClassVar[str] = ""
    API_VERSION: ClassVar[str] = ""
    PLURAL: ClassVar[str] = ""
    NAMESPACED: ClassVar[bool] = True

    metadata: ObjectMeta = _NO_META

    @classmethod
    def from_json(cls, data: bytes) -> Self:
        """Decode one object; the bytes are kept for `raw`."""
        try:
            decoded: Self = _decoder(cls).decode(data)
        except msgspec.DecodeError:
            decoded = _decode_again(cls, data)
        decoded.__dict__["_json"] = data
        return decoded

    @classmethod
    def from_dict(cls, mapping: Mapping[str, Any]) -> Self:
        """Convert a decoded object; the mapping is kept for `raw` and must not be changed afterwards."""
        try:
            converted = msgspec.convert(mapping, cls)
        except msgspec.ValidationError:
            converted = _convert_again(cls, mapping)
        converted.__dict__["raw"] = mapping
        return converted

    @property
    def name(self) -> str:
        """metadata.name"""
        return self.metadata.name

    @property
    def namespace(self) -> str:
        """metadata.namespace; empty for cluster-scoped objects."""
        return self.metadata.namespace

    @property
    def uid(self) -> str:
        """metadata.uid"""
        return self.metadata.uid

    @property
    def labels(self) -> Mapping[str, str]:
        """metadata.labels"""
        return self.metadata.labels

    @property
    def annotations(self) -> Mapping[str, str]:
        """metadata.annotations"""
        return self.metadata.annotations

    @property
    def resource_version(self) -> str:
        """metadata.resourceVersion"""
        return self.metadata.resource_version

    @cached_property
    def key(self) -> str:
        """`namespace/name`, or `name` for cluster-scoped objects."""
        meta = self.metadata
        return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name

    @cached_property
    def raw(self) -> Mapping[str, Any]:
        """The whole original object, fields unknown to us included; not to be changed.

        An object built in Python has no original: its typed fields are what there is.
        """
        data: bytes | None = self.__dict__.pop("_json", None)
        if data is None:
            return self.to_dict()
        whole: dict[str, Any] = msgspec.json.decode(data)
        return whole

    def to_dict(self) -> dict[str, Any]:
        """The typed fields as JSON would have them, with apiVersion and kind, zero values left out."""
        typed = msgspec.json.decode(msgspec.json.encode(self))  # a round trip, so that tuples become lists
        return {"apiVersion": self.API_VERSION, "kind": self.KIND, **typed}

    def __hash__(self) -> int:
        meta = self.metadata
        return hash((meta.uid, meta.name, meta.namespace))


@cache
def _decoder(cls: type[KubeObject]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(cls)


def _decode_again(cls: type[_T], data: bytes) -> _T:
    try:
        mapping = msgspec.json.decode(data)
    except msgspec.DecodeError as malformed:
        raise ObjectError(cls.KIND, "", "", f"not valid JSON: {malformed}") from None
    return _convert_again(cls, mapping)


def _convert_again(cls: type[_T], mapping: object) -> _T:
    """Second and last attempt, with nulls read as Go reads them."""
    try:
        return msgspec.convert(without_nulls(mapping, cls), cls)
    except msgspec.ValidationError as remaining:
        raise _object_error(cls, mapping, remaining) from None


def _object_error(cls: type[KubeObject], mapping: object, error: msgspec.ValidationError) -> ObjectError:
    reason, _, path = str(error).partition(" - at `")
    return ObjectError(cls.KIND, _key_in(mapping), path.rstrip("`").removeprefix("$."), reason)


def _key_in(mapping: object) -> str:
    """The name of an object that did not decode, as far as it can be read."""
    metadata = mapping.get("metadata") if isinstance(mapping, Mapping) else None
    if not isinstance(metadata, Mapping):
        return ""
    name, namespace = metadata.get("name"), metadata.get("namespace")
    if not isinstance(name, str):
        return ""
    return f"{namespace}/{name}" if isinstance(namespace, str) and namespace else name
