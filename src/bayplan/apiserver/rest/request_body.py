"""Request bodies: from bytes to a value, and to an object of a kind."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import yaml

from bayplan.apiserver import protobuf
from bayplan.apiserver.api_errors import StatusError, bad_request
from bayplan.apiserver.codec import Codec, duplicate_fields, unrecognized
from bayplan.apiserver.registry.rest_strategy import Object
from bayplan.apiserver.transport.api_messages import ApiRequest
from bayplan.model.wire_format import PROTOBUF

JSON: Final = "application/json"
YAML: Final = "application/yaml"
_ACCEPTED: Final = f"{JSON}, {YAML}, {PROTOBUF}"
#: Go's words.
_TOO_DEEP: Final = "exceeded max depth"
_decode_json = msgspec.json.Decoder().decode
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def media_type(header: str) -> str:
    """`application/json` of `application/json; charset=utf-8`; "" for a malformed header."""
    type_, *parameters = header.split(";")
    if any("=" not in parameter for parameter in parameters):
        return "malformed"
    return type_.strip().lower()


def read_value(request: ApiRequest, kind: str) -> object:
    """The decoded body of a request."""
    content_type = media_type(request.content_type) or JSON
    if content_type == JSON:
        return _json(request.body, kind)
    if content_type == YAML:
        return parse_yaml(request.body)
    if content_type == PROTOBUF:
        return _protobuf(request.body, kind)
    raise _unsupported(
        f"the body of the request was in an unknown format - accepted media types include: {_ACCEPTED}"
    )


def read_object(request: ApiRequest, codec: Codec, validation: str, warnings: list[str]) -> Object:
    """The body as an object of a kind, with unknown and duplicate fields reported as requested."""
    value = read_value(request, codec.kind)
    if codec.needs_kind and isinstance(value, dict) and not value.get("kind"):
        why = f"Object 'Kind' is missing in '{request.body.decode(errors='replace')}'"
        raise unrecognized(codec.kind, why, request.body)
    collect = validation != "Ignore"
    try:
        obj, findings = codec.decode(value, collect_unknown=collect)
    except RecursionError:
        raise unrecognized(codec.kind, f"json parse error: {_TOO_DEEP}", request.body) from None
    if collect and request.body[:1] == b"{":
        findings = [*_duplicates(request.body, value), *findings]
    report(findings, codec, validation, warnings)
    return obj


def _duplicates(body: bytes, value: object) -> list[str]:
    try:
        return duplicate_fields(body, value)
    except (UnicodeDecodeError, msgspec.DecodeError):
        return duplicate_fields(_with_replacements(body), value)


def report(findings: list[str], codec: Codec, validation: str, warnings: list[str]) -> None:
    """Report unknown and duplicate fields as an error, as warnings or not at all."""
    if not findings:
        return
    if validation == "Strict":
        raise codec.strict_error(findings)
    if validation == "Warn":
        warnings.extend(findings)


def _json(body: bytes, kind: str) -> object:
    try:
        return _decode_json(body)
    except RecursionError:
        raise unrecognized(kind, f"couldn't get version/kind; json parse error: {_TOO_DEEP}", body) from None
    except UnicodeDecodeError:
        return _json(_with_replacements(body), kind)
    except msgspec.DecodeError as error:
        if "utf-8" in str(error).lower():
            return _json(_with_replacements(body), kind)
        why = str(error) if body else "unexpected end of JSON input"
        raise unrecognized(kind, f"couldn't get version/kind; json parse error: {why}", body) from None


def _with_replacements(body: bytes) -> bytes:
    """Every byte that is not UTF-8 becomes U+FFFD, as when Go reads JSON."""
    text = body.decode("utf-8", "surrogateescape")
    return "".join("\ufffd" if "\udc80" <= char <= "\udcff" else char for char in text).encode()


def _protobuf(body: bytes, kind: str) -> object:
    try:
        return protobuf.decode(body)
    except protobuf.WireFormatError as error:
        raise unrecognized(kind, str(error), body) from None


def parse_yaml(body: bytes) -> object:
    """A YAML document as JSON; timestamps stay text."""
    try:
        value: object = yaml.load(body, Loader=_JsonLoader)  # noqa: S506  a safe loader without times
    except yaml.YAMLError as error:
        raise bad_request(f"error converting YAML to JSON: yaml: {error}") from None
    return value


class _JsonLoader(_Loader):  # type: ignore[misc]
    """Loads only what JSON can express."""


_JsonLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in _Loader.yaml_implicit_resolvers.items()
}


def _unsupported(message: str) -> StatusError:
    return StatusError(415, "UnsupportedMediaType", message)
