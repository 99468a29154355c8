"""The library that all environments of Kubernetes share, in the order in which Kubernetes puts it together."""

from __future__ import annotations

from functools import cache

from bayplan.cel.checking.cel_types import (
    BOOL,
    BYTES,
    CIDR,
    DOUBLE,
    DURATION,
    INT,
    IP,
    NULL,
    OPTIONAL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    CelType,
    list_of,
    map_of,
    parameter,
)
from bayplan.cel.checking.declarations import Library
from bayplan.cel.functions.conversions import declare_conversions
from bayplan.cel.functions.list_functions import declare_list_functions
from bayplan.cel.functions.named_formats import declare_named_formats
from bayplan.cel.functions.networks import declare_networks
from bayplan.cel.functions.operators import declare_operators
from bayplan.cel.functions.optionals import declare_optionals
from bayplan.cel.functions.quantities import declare_quantities
from bayplan.cel.functions.regexes import declare_regexes
from bayplan.cel.functions.semantic_versions import declare_semantic_versions
from bayplan.cel.functions.texts import declare_texts
from bayplan.cel.functions.timestamps import declare_timestamps
from bayplan.cel.functions.urls import declare_urls

TYPE_NAMES: dict[str, CelType] = {
    cel_type.name: cel_type
    for cel_type in (BOOL, BYTES, DOUBLE, DURATION, INT, NULL, STRING, TIMESTAMP, TYPE, UINT, IP, CIDR)
} | {
    "list": list_of(parameter("A")),
    "map": map_of(parameter("A"), parameter("B")),
    "optional_type": OPTIONAL,
}


@cache
def kubernetes_library() -> Library:
    """All functions."""
    library = Library()
    for declare in (
        declare_operators,
        declare_conversions,
        declare_timestamps,
        declare_urls,
        declare_regexes,
        declare_list_functions,
        declare_optionals,
        declare_quantities,
        declare_texts,
        declare_networks,
        declare_named_formats,
        declare_semantic_versions,
    ):
        library.merge(declare())
    return library
