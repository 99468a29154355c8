"""Selectors of devices: the environment of `k8s.io/dynamic-resource-allocation/cel`.

`compile_device_selector` compiles an expression once and keeps it. A selector is asked about `DeviceAttributes`,
which are what an expression can see of a device; they are made once per device and may be asked about often.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, Final

from bayplan.cel.cel_errors import CelCompileError, CelRuntimeError, EvaluationError
from bayplan.cel.checking.cel_types import ANY, BOOL, FORMAT, QUANTITY, STRING, CelType, Kind, map_of, struct
from bayplan.cel.checking.environment import CelEnvironment
from bayplan.cel.checking.estimates import Path, Range, estimate_cost
from bayplan.cel.functions.call_estimates import estimate_call
from bayplan.cel.functions.kubernetes_library import TYPE_NAMES, kubernetes_library
from bayplan.cel.functions.semantic_versions import parse_version
from bayplan.cel.program import CelProgram, compile_program
from bayplan.cel.runtime.cel_values import OptionalValue, type_of_value
from bayplan.cel.syntax.macros import BIND, MACROS
from bayplan.model.quantity import Quantity

#: The most that one evaluation may cost.
COST_LIMIT: Final = 1_000_000
#: The longest expression that the API accepts, in bytes.
MAX_EXPRESSION_BYTES: Final = 10 * 1024

_DEVICE: Final = struct("kubernetes.DRADevice")


@cache
def _environment() -> CelEnvironment:
    return CelEnvironment(
        variables={"device": _DEVICE},
        type_names=TYPE_NAMES,
        library=kubernetes_library(),
        macros={**MACROS, **BIND},
        structs={
            _DEVICE.name: {
                "driver": STRING,
                "allowMultipleAllocations": BOOL,
                "attributes": map_of(STRING, map_of(STRING, ANY)),
                "capacity": map_of(STRING, map_of(STRING, QUANTITY)),
            }
        },
    )


#: The sizes that the API allows the parts of a device to have, by their path; names stand for any.
_SIZES: Final[dict[Path, int]] = {
    ("device",): 0,
    ("device", "driver"): 63,
    ("device", "allowMultipleAllocations"): 1,
    ("device", "attributes"): 32,
    ("device", "attributes", "@keys"): 63,
    ("device", "attributes", "@values"): 32,
    ("device", "attributes", "@values", "@keys"): 32,
    ("device", "attributes", "@values", "@values"): 64,
    ("device", "capacity"): 32,
    ("device", "capacity", "@keys"): 63,
    ("device", "capacity", "@values"): 32,
    ("device", "capacity", "@values", "@keys"): 32,
    ("device", "capacity", "@values", "@values"): 0,
}


def _size_of_path(path: Path) -> Range | None:
    if len(path) == 4 and path[:3] == ("device", "attributes", "@values") and path[3][0] != "@":
        return Range(0, _SIZES["device", "attributes", "@values", "@values"])
    size = _SIZES.get(path)
    return None if size is None else Range(0, size)


class _Domains(dict[str, Any]):
    """Domain → name → value. An unknown domain has no names, but is not contained."""

    __slots__ = ()
    default: Final[dict[str, Any]] = {}

    def __missing__(self, domain: object) -> dict[str, Any]:
        return self.default


class DeviceAttributes:
    """What selectors can see of a device.

    A value that cannot be read is an error of every selector, whether it looks at it or not.
    """

    __slots__ = ("_error", "_variables")

    def __init__(
        self,
        driver: str,
        attributes: Mapping[str, Mapping[str, Any]],
        capacity: Mapping[str, str | Quantity],
        *,
        allow_multiple_allocations: bool = False,
    ) -> None:
        """Attributes are as in the API, `{"int": 1}`; names without a domain belong to the driver's."""
        self._error: str | None = None
        self._variables = [
            {
                "driver": driver,
                "allowMultipleAllocations": allow_multiple_allocations,
                "attributes": self._attributes(driver, attributes),
                "capacity": _capacity(driver, capacity),
            }
        ]

    def _attributes(self, driver: str, attributes: Mapping[str, Mapping[str, Any]]) -> _Domains:
        domains = _Domains()
        for name, attribute in attributes.items():
            try:
                _put(domains, driver, name, _attribute_value(attribute))
            except EvaluationError as error:
                self._error = f"attribute {name}: {error}"
        return domains

    @property
    def variables(self) -> list[Any]:
        """The variables of the environment. Raises CelRuntimeError."""
        if self._error is not None:
            raise CelRuntimeError(self._error)
        return self._variables


def _capacity(driver: str, capacity: Mapping[str, str | Quantity]) -> _Domains:
    domains = _Domains()
    for name, amount in capacity.items():
        _put(domains, driver, name, amount if isinstance(amount, Quantity) else Quantity.parse(amount))
    return domains


def _put(domains: _Domains, driver: str, name: str, value: Any) -> None:
    domain, separator, id = name.partition("/")
    if not separator:
        domain, id = driver, name
    domains.setdefault(domain, {})[id] = value


def _attribute_value(attribute: Mapping[str, Any]) -> Any:
    """The value of an attribute. Raises EvaluationError."""
    for kind in ("int", "bool", "string"):
        if attribute.get(kind) is not None:
            return attribute[kind]
    if attribute.get("version") is not None:
        try:
            return parse_version(attribute["version"])
        except EvaluationError as error:
            raise EvaluationError(f"parse semantic version: {error}") from None
    raise EvaluationError("unsupported attribute value")


def _check_output(output: CelType) -> None:
    if output != BOOL and output.kind is not Kind.ANY:
        raise CelCompileError(f"must evaluate to bool or the unknown type, not {output}")


class DeviceSelector:
    """A compiled selector, or the reason why it does not compile."""

    __slots__ = ("_program", "error", "expression")

    def __init__(self, expression: str) -> None:
        self.expression = expression
        #: Why the expression does not compile, in upstream's words; None if it does.
        self.error: str | None = None
        self._program: CelProgram | None = None
        try:
            self._program = compile_program(expression, _environment(), _check_output)
        except CelCompileError as error:
            self.error = str(error)

    def max_cost(self) -> int:
        """What an evaluation may cost at most, whatever the device; the API refuses selectors beyond the limit."""
        if self._program is None:
            return 2**64 - 1
        return estimate_cost(self._program.tree, _size_of_path, estimate_call).high

    def matches(self, device: DeviceAttributes) -> bool:
        """Whether the device is selected. Raises CelRuntimeError, also for a selector that did not compile."""
        return self.evaluate(device)[0]

    def evaluate(self, device: DeviceAttributes) -> tuple[bool, int]:
        """Whether the device is selected, and what it cost to find out. Raises CelRuntimeError."""
        if self._program is None:
            raise CelRuntimeError(self.error)
        value, cost = self._program.evaluate(device.variables, COST_LIMIT)
        if value is not True and value is not False:
            raise CelRuntimeError(
                f"CEL result of type {type_of_value(value).name} could not be converted to bool: "
                f"{_conversion_failure(value)}"
            )
        return value, cost


def _conversion_failure(value: Any) -> str:
    """What the original says about a value that is no bool."""
    if type(value) is OptionalValue and value.has_value:
        return _conversion_failure(value.value)
    cel_type = type_of_value(value)
    return _CONVERSION_FAILURES.get(cel_type.kind) or f"type conversion error from '{_short(cel_type)}' to 'bool'"


def _short(cel_type: CelType) -> str:
    return "Format" if cel_type == FORMAT else cel_type.name.rpartition(".")[2]


_CONVERSION_FAILURES: Final = {
    Kind.INT: "unsupported type conversion from 'int' to bool",
    Kind.UINT: "unsupported type conversion from 'uint' to bool",
    Kind.DOUBLE: "type conversion error from Double to 'bool'",
    Kind.BYTES: "type conversion error from Bytes to 'bool'",
    Kind.STRING: "unsupported native conversion from string to 'bool'",
    Kind.LIST: "type conversion error from list to 'bool'",
    Kind.MAP: "type conversion error from map to 'bool'",
    Kind.TYPE: "type conversion not supported for 'type'",
}


@lru_cache(maxsize=4096)
def compile_device_selector(expression: str) -> DeviceSelector:
    """The selector of an expression, compiled once."""
    return DeviceSelector(expression)
