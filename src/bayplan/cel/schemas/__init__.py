"""Rules of CustomResourceDefinitions (`x-kubernetes-validations`): schemas as types, values, compiled rules."""

from bayplan.cel.schemas.schema_rules import CompiledRule, compile_rules
from bayplan.cel.schemas.schema_types import SchemaType, schema_type
from bayplan.cel.schemas.schema_values import schema_value

__all__ = ["CompiledRule", "SchemaType", "compile_rules", "schema_type", "schema_value"]
