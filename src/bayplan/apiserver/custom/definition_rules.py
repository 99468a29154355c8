"""What a CustomResourceDefinition must be, apart from its schemas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from bayplan.apiserver.causes import each, immutable, invalid, not_supported, one_of, required
from bayplan.apiserver.custom.schema_rules import schema_causes
from bayplan.apiserver.names import label_1035_errors, subdomain_errors
from bayplan.apiserver.schemas import Json
from bayplan.apiserver.status import Cause
from bayplan.apiserver.strategy import Object

_SCOPES: Final = ("Cluster", "Namespaced")
_CONVERSIONS: Final = ("None", "Webhook")
_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_INSTEAD: Final = "x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema"
_APPROVAL: Final = "api-approved.kubernetes.io"
_PROTECTED: Final = ("k8s.io", "kubernetes.io")


def definition_causes(obj: Object) -> Iterator[Cause]:
    """Everything that is wrong with a new definition."""
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


def changed_definition_causes(new: Object, old: Object) -> Iterator[Cause]:
    """What is wrong with a change: names that are in use stay."""
    yield from (cause for cause in definition_causes(new) if cause.field != "metadata.name")
    conditions = old["status"].get("conditions") or ()
    if not any(each["type"] == "Established" and each["status"] == "True" for each in conditions):
        return
    after, before = new["spec"], old["spec"]
    for field in ("scope", "group"):
        yield from immutable(f"spec.{field}", after.get(field), before.get(field))
    for field in ("kind", "plural"):
        yield from immutable(f"spec.names.{field}", after["names"].get(field), before["names"].get(field))


def _group_causes(group: str, metadata: Json) -> Iterator[Cause]:
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


def _version_causes(versions: list[Json]) -> Iterator[Cause]:
    for i, version in enumerate(versions):
        yield from each(f"spec.versions[{i}].name", version["name"], label_1035_errors(version["name"]))
    for i, version in enumerate(versions):
        # What all versions have in common, kube-apiserver names as if it stood above them.
        yield from _described_causes(version, "spec" if len(versions) == 1 else f"spec.versions[{i}]", i)
    names = [version["name"] for version in versions]
    if len(set(names)) < len(names):
        yield invalid("spec.versions", names, "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        yield invalid("spec.versions", names, "must have exactly one version marked as storage version")
    if not any(version.get("storage") for version in versions):
        yield invalid("status.storedVersions", None, "must have at least one stored version")


def _described_causes(version: Json, place: str, i: int) -> Iterator[Cause]:
    if place == "spec":
        yield from each("spec.version", version["name"], label_1035_errors(version["name"]))
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    if schema is None:
        yield required(f"spec.versions[{i}].schema.openAPIV3Schema")
    else:
        within = "validation" if place == "spec" else "schema"
        yield from schema_causes(schema, f"{place}.{within}.openAPIV3Schema")
    for j, column in enumerate(version.get("additionalPrinterColumns") or ()):
        yield from _column_causes(column, f"{place}.additionalPrinterColumns[{j}]")
    scale = (version.get("subresources") or {}).get("scale")
    if scale is not None:
        yield from _scale_causes(scale, f"{place}.subresources.scale")


def _column_causes(column: Json, place: str) -> Iterator[Cause]:
    if not column.get("name"):
        yield required(f"{place}.name")
    kind, format_ = column.get("type"), column.get("format")
    types = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not kind:
        yield required(f"{place}.type", types)
    elif kind not in _COLUMN_TYPES:
        yield invalid(f"{place}.type", kind, types)
    if format_ and format_ not in _COLUMN_FORMATS:
        yield invalid(f"{place}.format", format_, f"must be one of {','.join(_COLUMN_FORMATS)}")
    yield from _path_causes(column.get("jsonPath", ""), f"{place}.JSONPath", ())


def _scale_causes(scale: Json, place: str) -> Iterator[Cause]:
    yield from _path_causes(scale.get("specReplicasPath", ""), f"{place}.specReplicasPath", (".spec",))
    yield from _path_causes(scale.get("statusReplicasPath", ""), f"{place}.statusReplicasPath", (".status",))
    if scale.get("labelSelectorPath"):
        yield from _path_causes(scale["labelSelectorPath"], f"{place}.labelSelectorPath", (".spec", ".status"))


def _path_causes(path: str, place: str, roots: tuple[str, ...]) -> Iterator[Cause]:
    if not path:
        yield required(place)
    elif not path.startswith("."):
        yield invalid(place, path, "must be a simple json path starting with .")
    elif roots and not any(path.startswith(f"{root}.") for root in roots):
        under = roots[0] if len(roots) == 1 else f"either {' or '.join(roots)}"
        yield invalid(place, path, f"should be a json path under {under}")


def _name_causes(names: Json) -> Iterator[Cause]:
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


def _label_causes(name: Any, place: str) -> Iterator[Cause]:
    errors = label_1035_errors(name) if name else ()
    if errors:
        yield invalid(place, name, ",".join(errors))


def _mixed_case_causes(name: Any, place: str) -> Iterator[Cause]:
    errors = label_1035_errors(name.lower()) if name else ()
    if errors:
        yield invalid(place, name, f"may have mixed case, but should otherwise match: {','.join(errors)}")


def _conversion_causes(conversion: Json) -> Iterator[Cause]:
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
