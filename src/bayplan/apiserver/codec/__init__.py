"""Request bodies, validated against the schema and converted to Go's JSON form (see `compile`)."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from bayplan.apiserver.api_errors import StatusError, bad_request
from bayplan.apiserver.codec.compile import Compiler, Convert
from bayplan.apiserver.codec.findings import duplicate_fields, unknown_fields, unrecognized
from bayplan.apiserver.codec.mismatch import MalformedValueError, json_type
from bayplan.apiserver.registry.api_resources import ApiResource
from bayplan.apiserver.registry.rest_strategy import Object
from bayplan.apiserver.schema.schemas import DefinitionNode, Schemas, published

__all__ = ["Codec", "Codecs", "Decoded", "duplicate_fields", "unrecognized"]

#: Where kube-apiserver registers its kinds; its message for an unregistered kind names the file.
_SCHEME: Final = "pkg/runtime/scheme.go:111"
_TYPE_META: Final = (
    r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
)


class Decoded(NamedTuple):
    obj: Object
    #: `unknown field "spec.foo"`, in the order of the body; empty unless requested.
    unknown: list[str]


class Codec:
    """Decodes objects of one kind."""

    #: Whether a body must contain its kind.
    needs_kind = False

    def __init__(
        self, *, api_version: str, kind: str, convert: Convert, node: DefinitionNode, schemas: Schemas
    ) -> None:
        self.api_version = api_version
        self.kind = kind
        #: The schema, for patches and for apply.
        self.node = node
        self._convert = convert
        self._schemas = schemas

    def decode(self, value: object, *, collect_unknown: bool = False) -> Decoded:
        """The object in Go's form. `kind` and `apiVersion` may be missing, but must not differ."""
        self._check_kind(value)
        unknown: list[str] = []
        try:
            obj: Object = self._convert(value, unknown)
        except MalformedValueError as malformed:
            raise self.refusal(str(malformed)) from None
        obj["kind"] = self.kind
        obj["apiVersion"] = self.api_version
        return Decoded(obj, unknown_fields(self.node, value) if unknown and collect_unknown else [])

    def zero(self) -> Object:
        """An empty object as Go writes it."""
        return self.decode({}).obj

    def strict_error(self, findings: list[str]) -> StatusError:
        """The error for unknown and duplicate fields with `fieldValidation=Strict`."""
        return self.refusal(f"strict decoding error: {', '.join(findings)}")

    def _check_kind(self, value: object) -> None:
        if not isinstance(value, dict):
            raise self.no_object(value)
        kind, api_version = value.get("kind") or self.kind, value.get("apiVersion") or self.api_version
        if kind == self.kind and api_version == self.api_version:
            return
        for field, given in (("kind", kind), ("apiVersion", api_version)):
            if not isinstance(given, str):
                why = f"{json_type(given)} into Go struct field .{field} of type string"
                raise self._unmarshal_error(value, why)
        if kind == self.kind and self._is_other_version(api_version):
            expected = f"does not match the expected API version ({self.api_version})"
            raise bad_request(f"the API version in the data ({api_version}) {expected}")
        raise self.refusal(self._no_conversion(kind, api_version), kind, api_version)

    def _is_other_version(self, api_version: str) -> bool:
        """Whether it is a version of the kind, in the same group: it could be converted."""
        group, _, version = api_version.rpartition("/")
        same_group = group == self.api_version.rpartition("/")[0]
        return same_group and self._schemas.definition_of(group, version, self.kind) is not None

    def no_object(self, value: object) -> StatusError:
        """The error for a body that is not an object."""
        return self._unmarshal_error(value, f"{json_type(value)} into Go value of type {_TYPE_META}")

    def _unmarshal_error(self, value: object, why: str) -> StatusError:
        error = f"couldn't get version/kind; json parse error: json: cannot unmarshal {why}"
        return unrecognized(self.kind, error, msgspec.json.encode(value))

    def _no_conversion(self, kind: str, api_version: str) -> str:
        group, _, version = api_version.rpartition("/")
        if self._schemas.definition_of(group, version, kind) is None:
            return f'no kind "{kind}" is registered for version "{api_version}" in scheme "{_SCHEME}"'
        internal = self.api_version.rpartition("/")[0].partition(".")[0] or "core"
        return f"converting ({version}.{kind}) to ({internal}.{self.kind}): unknown conversion"

    def refusal(self, why: str, kind: str = "", api_version: str = "") -> StatusError:
        """The error for a body that cannot be decoded as the kind."""
        version = (api_version or self.api_version).rpartition("/")[2]
        return bad_request(f'{kind or self.kind} in version "{version}" cannot be handled as a {self.kind}: {why}')


class Codecs:
    """The codecs of all kinds, compiled on first use."""

    def __init__(self, schemas: Schemas | None = None) -> None:
        self.schemas = schemas or published()
        self._compiler = Compiler(self.schemas)
        self._made: dict[tuple[str, str], Codec] = {}

    def of(self, resource: ApiResource) -> Codec:
        """The codec of a built-in resource."""
        return self.of_kind(resource.api_version, resource.kind)

    def of_kind(self, api_version: str, kind: str) -> Codec:
        """The codec of any published kind: `Scale`, `Binding`, `Eviction`, `DeleteOptions`, …"""
        made = self._made.get((api_version, kind))
        return made if made is not None else self._make(api_version, kind)

    def _make(self, api_version: str, kind: str) -> Codec:
        group, _, version = api_version.rpartition("/")
        definition = self.schemas.definition_of(group, version, kind)
        if definition is None:
            raise KeyError(f"no published schema of {api_version} {kind}")
        codec = self._made[(api_version, kind)] = Codec(
            api_version=api_version,
            kind=kind,
            convert=self._compiler.struct(definition),
            node=self.schemas.node(definition),
            schemas=self.schemas,
        )
        return codec
