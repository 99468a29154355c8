"""Server-side apply as a request: reads the configuration, then creates or changes the object."""

from __future__ import annotations

import msgspec

from bayplan.apiserver.api_errors import StatusError, bad_request, conflict
from bayplan.apiserver.apply import ApplyOptions, applied
from bayplan.apiserver.codec import Codec
from bayplan.apiserver.registry.resource_registry import ResourceRegistry
from bayplan.apiserver.registry.rest_strategy import Object
from bayplan.apiserver.rest.options import WriteOptions
from bayplan.apiserver.rest.request_body import parse_yaml
from bayplan.apiserver.rest.request_info import RequestInfo, check_name
from bayplan.apiserver.storage.versioned_store import StoredObject


class ApplyVerb:
    """See the module docstring."""

    def __init__(self, registry: ResourceRegistry) -> None:
        self._registry = registry

    def apply(
        self, info: RequestInfo, codec: Codec, options: WriteOptions, warnings: list[str]
    ) -> tuple[StoredObject, bool]:
        """The object after the apply, and whether it is new."""
        config = _read(info.request.body)
        strategy, ownership = self._registry.strategy_of(info.resource), self._registry.ownership
        how = ApplyOptions(options.field_manager, codec.kind, ownership.now(), options.force)
        seen = ownership.target(info.resource, info.subresource)

        def result(live: Object | None) -> Object:
            obj = _converted(codec, applied(seen, live, config, how, zero=codec.zero()))
            strategy.default(obj)
            check_name(info, obj)
            return obj

        def make() -> Object:
            obj = result(None)
            if uid := obj["metadata"].get("uid"):
                why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                raise conflict(info.resource.group, info.resource.plural, info.name, why)
            return obj

        def change(entry: StoredObject) -> Object:
            live = self._registry.decoded(info.resource, entry)
            return result(ownership.shown(entry.key, live))

        return self._registry.update(
            info.resource,
            info.namespace,
            info.name,
            change,
            options.context(info.request, warnings),
            subresource=info.subresource,
            make=None if info.subresource else make,
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
