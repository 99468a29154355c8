"""Server-side apply as a request: the body read, the object made or changed."""

from __future__ import annotations

import msgspec

from bayplan.apiserver.apply import Apply, applied
from bayplan.apiserver.codec import Codec
from bayplan.apiserver.registry import Registry
from bayplan.apiserver.rest.body import parse_yaml
from bayplan.apiserver.rest.call import Call, check_name
from bayplan.apiserver.rest.options import WriteOptions
from bayplan.apiserver.status import StatusError, bad_request, conflict
from bayplan.apiserver.store import Entry
from bayplan.apiserver.strategy import Object


class Applying:
    """See the module's text."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def apply(self, call: Call, codec: Codec, options: WriteOptions, warnings: list[str]) -> tuple[Entry, bool]:
        """The object after the apply, and whether it is new."""
        config = _read(call.request.body)
        strategy, ownership = self._registry.strategy_of(call.resource), self._registry.ownership
        how = Apply(options.field_manager, codec.kind, ownership.now(), options.force)
        seen = ownership.view(call.resource, call.subresource)

        def result(live: Object | None) -> Object:
            obj = _converted(codec, applied(seen, live, config, how, zero=codec.zero()))
            strategy.default(obj)
            check_name(call, obj)
            return obj

        def make() -> Object:
            obj = result(None)
            if uid := obj["metadata"].get("uid"):
                why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                raise conflict(call.resource.group, call.resource.plural, call.name, why)
            return obj

        def change(entry: Entry) -> Object:
            live = self._registry.decoded(call.resource, entry)
            return result(ownership.shown(entry.key, live))

        return self._registry.update(
            call.resource,
            call.namespace,
            call.name,
            change,
            options.asking(call.request, warnings),
            subresource=call.subresource,
            make=None if call.subresource else make,
            is_apply=True,
        )


def _converted(codec: Codec, result: Object) -> Object:
    try:
        return codec.decode(result).obj
    except StatusError as error:
        metadata = result.get("metadata", {})
        kind = f"{codec.api_version if '/' in codec.api_version else '/' + codec.api_version}, Kind={codec.kind}"
        place = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
        why = f"unable to convert unstructured object to {kind}: {error.message.partition(': ')[2]}"
        raise StatusError(
            500, "", f"failed to convert new object ({place}; {kind}) to proper version: {why}"
        ) from error


def _read(body: bytes) -> Object:
    try:
        config: object = msgspec.json.decode(body)
    except msgspec.DecodeError:
        config = _read_yaml(body)
    if config is None:
        return {}
    if not isinstance(config, dict):
        kind = "array" if isinstance(config, list) else "value"
        why = f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
        raise bad_request(f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {why}")
    return config


def _read_yaml(body: bytes) -> object:
    try:
        return parse_yaml(body)
    except StatusError as error:
        raise bad_request(f"error decoding YAML: {error.message}") from error
