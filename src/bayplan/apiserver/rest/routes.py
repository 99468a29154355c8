"""Paths of the API, taken apart."""

from __future__ import annotations

from collections.abc import Sequence

from bayplan.apiserver.exchange import Request
from bayplan.apiserver.resources import Resource, ResourceTable
from bayplan.apiserver.rest.call import Call
from bayplan.apiserver.status import StatusError, not_found

#: Parts of a namespace itself; anything else below one is a collection in it.
_OF_NAMESPACES = ("status", "finalize")


def route(request: Request, table: ResourceTable) -> Call | None:
    """What the path is about; None if no group-version has it, a 404 if its group-version has no such resource."""
    parts = request.path.strip("/").split("/")
    if parts[0] == "api":
        group, version, rest = "", parts[1:2], parts[2:]
    elif parts[0] == "apis" and len(parts) > 2:
        group, version, rest = parts[1], parts[2:3], parts[3:]
    else:
        return None
    if not version:
        return None
    if not rest:  # a version that discovery does not know
        if table.has_group(group):
            raise no_such_resource()
        return None
    return _in_version(request, table, group, version[0], rest)


def _in_version(
    request: Request, table: ResourceTable, group: str, version: str, parts: Sequence[str]
) -> Call | None:
    watch = parts[0] == "watch" and len(parts) > 1
    if watch:
        parts = parts[1:]
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 2 and not (group == "" and parts[2] in _OF_NAMESPACES):
        namespace, parts = parts[1], parts[2:]
    resource = table.find(group, version, parts[0])
    if resource is None:
        if not table.has_group(group):
            return None
        raise no_such_resource()
    if len(parts) > 3 or (namespace and not resource.namespaced):
        raise no_such_resource()
    name = parts[1] if len(parts) > 1 else ""
    subresource = parts[2] if len(parts) > 2 else ""
    if name and resource.namespaced and not namespace:
        raise no_such_resource()
    if subresource and not _has_part(resource, subresource):
        raise not_found(resource.group, resource.plural, name) if resource.custom else no_such_resource()
    return Call(request, resource, namespace, name, subresource, watch)


def _has_part(resource: Resource, subresource: str) -> bool:
    return subresource in resource.subresources


def no_such_resource() -> StatusError:
    return StatusError(404, "NotFound", "the server could not find the requested resource", details={})


def no_such_method() -> StatusError:
    message = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", message, details={})
