"""Parses API paths."""

from __future__ import annotations

from collections.abc import Sequence

from bayplan.apiserver.api_errors import StatusError, not_found
from bayplan.apiserver.registry.api_resources import ApiResource, ResourceTable
from bayplan.apiserver.rest.request_info import RequestInfo
from bayplan.apiserver.transport.api_messages import ApiRequest

#: Subresources of a namespace; anything else below one is a collection in it.
_OF_NAMESPACES = ("status", "finalize")
#: Subresources of pods that need running containers.
NEED_CONTAINERS = ("attach", "exec", "log", "portforward", "proxy", "resize")


def route(request: ApiRequest, table: ResourceTable) -> RequestInfo | None:
    """The target of the path; None if its group-version is not served, a 404 if that has no such resource."""
    parts = request.path.strip("/").split("/")
    if parts[0] == "api":
        group, version, rest = "", parts[1:2], parts[2:]
    elif parts[0] == "apis" and len(parts) > 2:
        group, version, rest = parts[1], parts[2:3], parts[3:]
    else:
        return None
    if not version:
        return None
    if not rest:  # a version that discovery does not have
        if table.has_group(group):
            raise no_such_resource()
        return None
    return _in_version(request, table, group, version[0], rest)


def _in_version(
    request: ApiRequest, table: ResourceTable, group: str, version: str, parts: Sequence[str]
) -> RequestInfo | None:
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
    return RequestInfo(request, resource, namespace, name, subresource, watch)


def _has_part(resource: ApiResource, subresource: str) -> bool:
    if resource.plural == "pods" and not resource.group and subresource in NEED_CONTAINERS:
        return True  # They are refused in words, rather than as if nobody knew them.
    return subresource in resource.subresources


def no_such_resource() -> StatusError:
    return StatusError(404, "NotFound", "the server could not find the requested resource", details={})


def no_such_method() -> StatusError:
    message = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", message, details={})
