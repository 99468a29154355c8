"""CEL, the Common Expression Language, as Kubernetes uses it: expressions are compiled to Python closures.

Text → tokens → tree (`syntax`) → types and overloads (`checking`) → closures (`runtime`) over the functions of
Kubernetes' environments (`functions`). Results, costs and messages are those of cel-go.
"""

from bayplan.cel.cel_errors import CelCompileError, CelRuntimeError
from bayplan.cel.device_selectors import (
    COST_LIMIT,
    MAX_EXPRESSION_BYTES,
    DeviceAttributes,
    DeviceSelector,
    compile_device_selector,
)

__all__ = [
    "COST_LIMIT",
    "MAX_EXPRESSION_BYTES",
    "CelCompileError",
    "CelRuntimeError",
    "DeviceAttributes",
    "DeviceSelector",
    "compile_device_selector",
]
