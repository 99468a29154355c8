"""The REST API: from path and method to a verb on a resource, and from its result to a response."""

from bayplan.apiserver.rest.handler import RestHandler

__all__ = ["RestHandler"]
