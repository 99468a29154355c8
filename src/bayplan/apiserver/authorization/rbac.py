"""RBAC: decides by the roles and bindings in the store. Members of system:masters may do everything."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from bayplan.apiserver.registry.rest_strategy import Object
from bayplan.apiserver.storage.versioned_store import Key, VersionedStore
from bayplan.apiserver.transport.api_messages import UserInfo

_GROUP = "rbac.authorization.k8s.io"
MASTERS = "system:masters"
_EVERYTHING: Object = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}


class AccessRequest(msgspec.Struct, frozen=True):
    """An action: a verb on a resource, or on a path if `path` is given."""

    verb: str
    namespace: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    path: str | None = None

    @classmethod
    def of(cls, spec: Object) -> AccessRequest:
        """The action in the spec of an access review."""
        plain = spec.get("nonResourceAttributes")
        if plain is not None:
            return cls(plain.get("verb", ""), path=plain.get("path", ""))
        keys = ("verb", "namespace", "group", "resource", "subresource", "name")
        return cls(*(spec.get("resourceAttributes", {}).get(key, "") for key in keys))

    def refusal(self, user: UserInfo) -> str:
        """The words of a refusal."""
        what = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        where = f'in the namespace "{self.namespace}"' if self.namespace else "at the cluster scope"
        return f'User "{user.name}" cannot {self.verb} resource "{what}" in API group "{self.group}" {where}'


class RbacAuthorizer:
    """See the module docstring."""

    def __init__(self, store: VersionedStore) -> None:
        self._store = store

    def decide(self, user: UserInfo, access: AccessRequest) -> tuple[bool, str]:
        """Whether the user is allowed, and the reason."""
        if MASTERS in user.groups:
            return True, ""
        for rules, reason in self._grants(user, access.namespace):
            if any(_allows(rule, access) for rule in rules):
                return True, reason
        return False, ""

    def rules_for(self, user: UserInfo, namespace: str) -> Object:
        """Everything that the user may do in a namespace, as a SelfSubjectRulesReview reports it."""
        if MASTERS in user.groups:
            return _EVERYTHING
        resource_rules: list[Object] = []
        other_rules: list[Object] = []
        for rules, _ in self._grants(user, namespace):
            for rule in rules:
                keys = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")
                shown = {key: rule[key] for key in keys if rule.get(key)}
                (other_rules if rule.get("nonResourceURLs") else resource_rules).append(shown)
        return {"resourceRules": resource_rules, "nonResourceRules": other_rules, "incomplete": False}

    def _grants(self, user: UserInfo, namespace: str) -> Iterator[tuple[list[Object], str]]:
        for binding in self._list("clusterrolebindings", ""):
            yield from self._granted(user, binding, "", "ClusterRoleBinding")
        if namespace:
            for binding in self._list("rolebindings", namespace):
                yield from self._granted(user, binding, namespace, "RoleBinding")

    def _granted(
        self, user: UserInfo, binding: Object, namespace: str, kind: str
    ) -> Iterator[tuple[list[Object], str]]:
        subject = next((each for each in binding.get("subjects", ()) if _is_subject(user, each, namespace)), None)
        if subject is None:
            return
        ref, name = binding.get("roleRef", {}), binding["metadata"]["name"]
        plural, place = ("roles", namespace) if ref.get("kind") == "Role" else ("clusterroles", "")
        role = self._store.get(Key(f"{_GROUP}/{plural}", place, ref.get("name", "")))
        if role is None:
            return
        whole = f"{name}/{namespace}" if namespace else name
        who = f'{subject.get("kind", "")} "{_shown(subject)}"'
        reason = f'RBAC: allowed by {kind} "{whole}" of {ref.get("kind", "")} "{ref.get("name", "")}" to {who}'
        yield role.decode().get("rules") or [], reason

    def _list(self, plural: str, namespace: str) -> list[Object]:
        return [entry.decode() for entry in self._store.list(f"{_GROUP}/{plural}", namespace)]


def _shown(subject: Object) -> str:
    name = str(subject.get("name", ""))
    return f"{name}/{subject.get('namespace', '')}" if subject.get("kind") == "ServiceAccount" else name


def _is_subject(user: UserInfo, subject: Object, namespace: str) -> bool:
    name = subject.get("name", "")
    match subject.get("kind"):
        case "User":
            return bool(user.name == name)
        case "Group":
            return name in user.groups
        case "ServiceAccount":
            return user.name == f"system:serviceaccount:{subject.get('namespace') or namespace}:{name}"
    return False


def _has(values: list[str] | None, wanted: str) -> bool:
    return bool(values) and ("*" in values or wanted in values)  # type: ignore[operator]


def _allows(rule: Object, access: AccessRequest) -> bool:
    if not _has(rule.get("verbs"), access.verb):
        return False
    if access.path is not None:
        return any(_path_matches(url, access.path) for url in rule.get("nonResourceURLs", ()))
    wanted = f"{access.resource}/{access.subresource}" if access.subresource else access.resource
    resources = rule.get("resources", [])
    if not _has(resources, wanted) and f"*/{access.subresource}" not in resources:
        return False
    names = rule.get("resourceNames", [])
    return _has(rule.get("apiGroups"), access.group) and (not names or access.name in names)


def _path_matches(url: str, path: str) -> bool:
    return url in ("*", path) or (url.endswith("*") and path.startswith(url[:-1]))
