"""The base of all API objects: immutable structs decoded from JSON, their metadata, and `KubeObject` itself.

In: the bytes of a watch event, or a mapping. Out: immutable objects with a name, a key and typed fields. The typed
fields are the ones a scheduler reads; `raw` is the whole object, decoded from the bytes on first use. Fields have
the names of Go's JSON, and a missing field has Go's zero value. Derived values are computed once per object
(`cached_property`), which is safe because objects never change.

Times stay RFC 3339 strings, as the API sends them; `bayplan.model.times` parses them where they matter.
"""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypeVar

import msgspec

from bayplan.model.nulls import without_nulls
from bayplan.model.read_only import EMPTY, freeze, read_only

if TYPE_CHECKING:
    from functools import cached_property as cached_property
else:

    class cached_property:
        """Like `functools.cached_property`, without the lock that it has before Python 3.12.

        The value is stored in the object's `__dict__`, so later reads are plain attribute reads.
        """

        def __init__(self, function):
            self.func = function
            self.__doc__ = function.__doc__

        def __set_name__(self, owner, name):
            self.attrname = name

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            value = instance.__dict__[self.attrname] = self.func(instance)
            return value


# --- structs ----------------------------------------------------------------------------------------------

#: Fields whose JSON name is not plain camel case.
_INITIALISMS: Final = {
    "cluster_ip": "clusterIP",
    "cluster_ips": "clusterIPs",
    "disk_uri": "diskURI",
    "downward_api": "downwardAPI",
    "host_ip": "hostIP",
    "image_id": "imageID",
    "host_ips": "hostIPs",
    "node_id": "nodeID",
    "pod_ip": "podIP",
    "provider_id": "providerID",
    "share_id": "shareID",
    "pod_ips": "podIPs",
    "volume_id": "volumeID",
}


def json_name(field: str) -> str:
    """The JSON name of a field: `node_name` is `nodeName`, `host_ip` is `hostIP`."""
    if field in _INITIALISMS:
        return _INITIALISMS[field]
    first, *rest = field.rstrip("_").split("_")
    return first + "".join(word.capitalize() for word in rest)


class ApiStruct(msgspec.Struct, frozen=True, kw_only=True, rename=json_name, omit_defaults=True, gc=False):
    """A nested struct of an object (a spec, a container, a toleration): immutable and compared by value.

    Unknown fields are ignored. Structs contain only strings, numbers, tuples, dicts and other structs, so they
    never form reference cycles (`gc=False`).
    """


class Marker(ApiStruct, frozen=True, kw_only=True):
    """A struct of which only the presence matters: `config_map is not None`."""


# --- metadata ---------------------------------------------------------------------------------------------


class OwnerReference(ApiStruct, frozen=True, kw_only=True):
    """The object that owns this one; at most one owner is the controller."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(ApiStruct, frozen=True, kw_only=True):
    """Name, identity and labels of an object. Its dicts are made read-only by `KubeObject.freeze`."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = EMPTY
    annotations: dict[str, str] = EMPTY
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that manages this object (`controller: true`), if any."""
        for owner in self.owner_references:
            if owner.controller:
                return owner
        return None


class LabelSelectorRequirement(ApiStruct, frozen=True, kw_only=True):
    """One expression of a label selector, as written: key, operator, values."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(ApiStruct, frozen=True, kw_only=True):
    """A label selector as written in an object; `bayplan.model.label_selectors` compiles it."""

    match_labels: dict[str, str] = EMPTY
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()

    def __post_init__(self) -> None:
        freeze(self, "match_labels")


class ObjectReference(ApiStruct, frozen=True, kw_only=True):
    """A reference to another object."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    field_path: str = ""


class Condition(ApiStruct, frozen=True, kw_only=True):
    """One condition in the status of a pod, a node or a custom resource."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    observed_generation: int = 0
    last_transition_time: str | None = None
    last_probe_time: str | None = None
    last_heartbeat_time: str | None = None


def condition_of(conditions: tuple[Condition, ...], type: str) -> Condition | None:
    """The condition of that type, if any."""
    for condition in conditions:
        if condition.type == type:
            return condition
    return None


# --- objects ----------------------------------------------------------------------------------------------

_NO_META: Final = ObjectMeta()
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
        """Decode one object; the bytes are stored for `raw`. Raises ObjectError."""
        try:
            decoded: Self = _decoder(cls).decode(data)
        except msgspec.DecodeError:
            decoded = _decode_with_nulls(cls, data)
        decoded.__dict__["_json"] = data
        decoded.freeze()
        return decoded

    @classmethod
    def from_dict(cls, mapping: Mapping[str, Any]) -> Self:
        """Convert a decoded object; the mapping is stored for `whole` and must not be changed afterwards."""
        try:
            converted = msgspec.convert(mapping, cls)
        except msgspec.ValidationError:
            converted = _convert_with_nulls(cls, mapping)
        converted.__dict__["whole"] = mapping
        converted.freeze()
        return converted

    def freeze(self) -> None:
        """Make the dicts of a new object read-only.

        Structs that most objects do not have do so themselves, in `__post_init__`; these are decoded all the time,
        and a method of theirs would cost more than what they contain.
        """
        metadata = self.metadata
        if metadata.labels is not EMPTY or metadata.annotations is not EMPTY:
            freeze(metadata, "labels", "annotations")

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
        """The whole original object, fields unknown to us included; read-only at any depth.

        An object built in Python has no original: its typed fields are what there is.
        """
        frozen: Mapping[str, Any] = read_only(self.whole)
        return frozen

    @cached_property
    def whole(self) -> Mapping[str, Any]:
        """The same for Bayplan itself, which does not change it: made without a copy."""
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


def _decode_with_nulls(cls: type[_T], data: bytes) -> _T:
    try:
        mapping = msgspec.json.decode(data)
    except msgspec.DecodeError as malformed:
        raise ObjectError(cls.KIND, "", "", f"not valid JSON: {malformed}") from None
    return _convert_with_nulls(cls, mapping)


def _convert_with_nulls(cls: type[_T], mapping: object) -> _T:
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
