"""RBAC: roles and bindings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.registry.rest_strategy import Object, RestStrategy
from bayplan.apiserver.validation.field_errors import each, immutable, invalid, not_supported, required
from bayplan.apiserver.validation.name_validation import path_segment_errors, subdomain_errors

_GROUP = "rbac.authorization.k8s.io"


class _RbacStrategy(RestStrategy):
    allows_create_on_update = True

    def name_errors(self, name: str, *, prefix: bool) -> list[str]:
        return path_segment_errors(name, prefix=prefix)


class RoleStrategy(_RbacStrategy):
    """Role and ClusterRole."""

    def __init__(self, *, cluster_wide: bool) -> None:
        self._cluster_wide = cluster_wide

    def validate(self, obj: Object) -> list[StatusCause]:
        found: list[StatusCause] = []
        for i, rule in enumerate(obj.get("rules") or ()):
            found += self._rule_causes(rule, f"rules[{i}]")
        return found

    def _rule_causes(self, rule: Object, path: str) -> Iterator[StatusCause]:
        if not rule.get("verbs"):
            yield required(f"{path}.verbs", "verbs must contain at least one value")
        urls = rule.get("nonResourceURLs", [])
        if urls:
            if not self._cluster_wide:
                text = "namespaced rules cannot apply to non-resource URLs"
                yield invalid(f"{path}.nonResourceURLs", urls, text)
            if any(rule.get(key) for key in ("apiGroups", "resources", "resourceNames")):
                text = "rules cannot apply to both regular resources and non-resource URLs"
                yield invalid(f"{path}.nonResourceURLs", urls, text)
            return
        if not rule.get("apiGroups"):
            yield required(f"{path}.apiGroups", "resource rules must supply at least one api group")
        if not rule.get("resources"):
            yield required(f"{path}.resources", "resource rules must supply at least one resource")


class RoleBindingStrategy(_RbacStrategy):
    """RoleBinding and ClusterRoleBinding."""

    def __init__(self, *, cluster_wide: bool) -> None:
        self._kinds = ("ClusterRole",) if cluster_wide else ("ClusterRole", "Role")
        self._cluster_wide = cluster_wide

    def default(self, obj: Object) -> None:
        role = obj.setdefault("roleRef", {})
        if not role.get("apiGroup"):
            role["apiGroup"] = _GROUP
        for subject in obj.get("subjects", ()):
            if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
                subject["apiGroup"] = _GROUP

    def validate(self, obj: Object) -> list[StatusCause]:
        role = obj.get("roleRef", {})
        found: list[StatusCause] = []
        if role.get("apiGroup") != _GROUP:
            found.append(not_supported("roleRef.apiGroup", role.get("apiGroup", ""), (_GROUP,)))
        if role.get("kind") not in self._kinds:
            found.append(not_supported("roleRef.kind", role.get("kind", ""), self._kinds))
        if role.get("name"):
            found += each("roleRef.name", role["name"], path_segment_errors(role["name"]))
        else:
            found.append(required("roleRef.name"))
        return [*found, *self._subject_causes(obj.get("subjects", ()))]

    def validate_update(self, new: Object, old: Object) -> list[StatusCause]:
        found = self.validate(new)
        if new.get("roleRef") != old.get("roleRef"):
            found += immutable("roleRef", new.get("roleRef"), None)
        return found

    def _subject_causes(self, subjects: Iterable[Object]) -> Iterator[StatusCause]:
        for i, subject in enumerate(subjects):
            path, kind, group = f"subjects[{i}]", subject.get("kind", ""), subject.get("apiGroup", "")
            if not subject.get("name"):
                yield required(f"{path}.name")
            if kind == "ServiceAccount":
                if subject.get("name"):
                    yield from each(f"{path}.name", subject["name"], subdomain_errors(subject["name"]))
                if group:
                    yield not_supported(f"{path}.apiGroup", group, ("",))
                if self._cluster_wide and not subject.get("namespace"):
                    yield required(f"{path}.namespace")
            elif kind not in ("User", "Group"):
                yield not_supported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group"))
            elif group != _GROUP:
                yield not_supported(f"{path}.apiGroup", group, (_GROUP,))
