"""Validation of a CustomResourceDefinition, apart from its schemas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.custom.schema_validation import schema_causes
from bayplan.apiserver.registry.rest_strategy import Object
from bayplan.apiserver.schema.schemas import Json
from bayplan.apiserver.validation.field_errors import each, immutable, invalid, not_supported, one_of, required
from bayplan.apiserver.validation.name_validation import label_1035_errors, subdomain_errors

_SCOPES: Final = ("Cluster", "Namespaced")
_CONVERSIONS: Final = ("None", "Webhook")
_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_INSTEAD: Final = "x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema"
_APPROVAL: Final = "api-approved.kubernetes.io"
_PROTECTED: Final = ("k8s.io", "kubernetes.io")


def definition_causes(obj: Object) -> Iterator[StatusCause]:
    """All errors of a new definition."""
    spec, name = obj["spec"], obj["metadata"].get("name", "")
    if name and name != f"{spec['names'].get('plural', '')}.{spec.get('group', '')}":
        yield invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    yield from _group_causes(spec.get("group", ""), obj["metadata"])
    yield from one_of("spec.scope", spec.get("scope"), _SCOPES)
    yield from _version_causes(spec.get("versions") or [])
    yield from _name_causes(spec["names"])
    if spec.get("preserveUnknownFields"):
        yield invalid("spec.preserveUnknownFields", True, f"cannot set to true, set {_INSTEAD} instead")
    yield from _conversion_causes(spec.get("conversion") or {})


def changed_definition_causes(new: Object, old: Object) -> Iterator[StatusCause]:
    """Errors of a change: names that are in use cannot change."""
    yield from (cause for cause in definition_causes(new) if cause.field != "metadata.name")
    conditions = old["status"].get("conditions") or ()
    if not any(each["type"] == "Established" and each["status"] == "True" for each in conditions):
        return
    after, before = new["spec"], old["spec"]
    for field in ("scope", "group"):
        yield from immutable(f"spec.{field}", after.get(field), before.get(field))
    for field in ("kind", "plural"):
        yield from immutable(f"spec.names.{field}", after["names"].get(field), before["names"].get(field))


def _group_causes(group: str, metadata: Json) -> Iterator[StatusCause]:
    errors = subdomain_errors(group)
    if not group:
        yield required("spec.group")
    elif errors:
        yield invalid("spec.group", group, ",".join(errors))
    elif "." not in group:
        yield invalid("spec.group", group, "should be a domain with at least one dot")
    protected = any(group == domain or group.endswith(f".{domain}") for domain in _PROTECTED)
    if protected and not (metadata.get("annotations") or {}).get(_APPROVAL):
        why = (
            f'protected groups must have approval annotation "{_APPROVAL}", '
            "see https://github.com/kubernetes/enhancements/pull/1111"
        )
        yield required(f"metadata.annotations[{_APPROVAL}]", why)


def _version_causes(versions: list[Json]) -> Iterator[StatusCause]:
    for i, version in enumerate(versions):
        yield from each(f"spec.versions[{i}].name", version["name"], label_1035_errors(version["name"]))
    for i, version in enumerate(versions):
        # kube-apiserver reports what all versions share at the top level.
        yield from _described_causes(version, "spec" if len(versions) == 1 else f"spec.versions[{i}]", i)
    names = [version["name"] for version in versions]
    if len(set(names)) < len(names):
        yield invalid("spec.versions", names, "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        yield invalid("spec.versions", names, "must have exactly one version marked as storage version")
    if not any(version.get("storage") for version in versions):
        yield invalid("status.storedVersions", None, "must have at least one stored version")


def _described_causes(version: Json, field_path: str, i: int) -> Iterator[StatusCause]:
    if field_path == "spec":
        yield from each("spec.version", version["name"], label_1035_errors(version["name"]))
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    if schema is None:
        yield required(f"spec.versions[{i}].schema.openAPIV3Schema")
    else:
        within = "validation" if field_path == "spec" else "schema"
        yield from schema_causes(schema, f"{field_path}.{within}.openAPIV3Schema")
    for j, column in enumerate(version.get("additionalPrinterColumns") or ()):
        yield from _column_causes(column, f"{field_path}.additionalPrinterColumns[{j}]")
    scale = (version.get("subresources") or {}).get("scale")
    if scale is not None:
        yield from _scale_causes(scale, f"{field_path}.subresources.scale")


def _column_causes(column: Json, field_path: str) -> Iterator[StatusCause]:
    if not column.get("name"):
        yield required(f"{field_path}.name")
    kind, format_ = column.get("type"), column.get("format")
    types = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not kind:
        yield required(f"{field_path}.type", types)
    elif kind not in _COLUMN_TYPES:
        yield invalid(f"{field_path}.type", kind, types)
    if format_ and format_ not in _COLUMN_FORMATS:
        yield invalid(f"{field_path}.format", format_, f"must be one of {','.join(_COLUMN_FORMATS)}")
    yield from _path_causes(column.get("jsonPath", ""), f"{field_path}.JSONPath", ())


def _scale_causes(scale: Json, field_path: str) -> Iterator[StatusCause]:
    yield from _path_causes(scale.get("specReplicasPath", ""), f"{field_path}.specReplicasPath", (".spec",))
    yield from _path_causes(scale.get("statusReplicasPath", ""), f"{field_path}.statusReplicasPath", (".status",))
    if scale.get("labelSelectorPath"):
        yield from _path_causes(
            scale["labelSelectorPath"], f"{field_path}.labelSelectorPath", (".spec", ".status")
        )


def _path_causes(path: str, field_path: str, roots: tuple[str, ...]) -> Iterator[StatusCause]:
    if not path:
        yield required(field_path)
    elif not path.startswith("."):
        yield invalid(field_path, path, "must be a simple json path starting with .")
    elif roots and not any(path.startswith(f"{root}.") for root in roots):
        under = roots[0] if len(roots) == 1 else f"either {' or '.join(roots)}"
        yield invalid(field_path, path, f"should be a json path under {under}")


def _name_causes(names: Json) -> Iterator[StatusCause]:
    for field in ("plural", "singular", "kind", "listKind"):
        if not names.get(field):
            yield required(f"spec.names.{field}")
    for field in ("plural", "singular"):
        yield from _label_causes(names.get(field), f"spec.names.{field}")
    for field in ("kind", "listKind"):
        yield from _mixed_case_causes(names.get(field), f"spec.names.{field}")
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        yield invalid("spec.names.listKind", names["listKind"], "kind and listKind may not be the same")
    for field in ("shortNames", "categories"):
        for i, name in enumerate(names.get(field) or ()):
            yield from _label_causes(name, f"spec.names.{field}[{i}]")


def _label_causes(name: Any, field_path: str) -> Iterator[StatusCause]:
    errors = label_1035_errors(name) if name else ()
    if errors:
        yield invalid(field_path, name, ",".join(errors))


def _mixed_case_causes(name: Any, field_path: str) -> Iterator[StatusCause]:
    errors = label_1035_errors(name.lower()) if name else ()
    if errors:
        yield invalid(field_path, name, f"may have mixed case, but should otherwise match: {','.join(errors)}")


def _conversion_causes(conversion: Json) -> Iterator[StatusCause]:
    strategy = conversion.get("strategy")
    if strategy and strategy not in _CONVERSIONS:
        yield not_supported("spec.conversion.strategy", strategy, _CONVERSIONS)
    if strategy != "Webhook":
        return
    webhook = conversion.get("webhook") or {}
    if not webhook.get("clientConfig"):
        yield required("spec.conversion.webhookClientConfig", "required when strategy is set to Webhook")
    if not webhook.get("conversionReviewVersions"):
        yield required("spec.conversion.conversionReviewVersions")
