"""The REST API: from a path and a method to a verb on a resource, and from its result to an answer."""

from bayplan.apiserver.rest.rest import Rest

__all__ = ["Rest"]
