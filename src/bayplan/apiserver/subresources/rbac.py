"""Who may do what, by the roles and bindings in the store. Members of system:masters may do everything."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from bayplan.apiserver.exchange import User
from bayplan.apiserver.store import Key, Store
from bayplan.apiserver.strategy import Object

_GROUP = "rbac.authorization.k8s.io"
MASTERS = "system:masters"
_EVERYTHING: Object = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}


class Question(msgspec.Struct, frozen=True):
    """An action: a verb on a resource, or on a path if `path` is given."""

    verb: str
    namespace: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    path: str | None = None

    @classmethod
    def of(cls, spec: Object) -> Question:
        """What the spec of an access review asks."""
        plain = spec.get("nonResourceAttributes")
        if plain is not None:
            return cls(plain.get("verb", ""), path=plain.get("path", ""))
        keys = ("verb", "namespace", "group", "resource", "subresource", "name")
        return cls(*(spec.get("resourceAttributes", {}).get(key, "") for key in keys))


class Authorizer:
    """See the module's text."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def decide(self, user: User, question: Question) -> tuple[bool, str]:
        """Whether the user may, and why."""
        if MASTERS in user.groups:
            return True, ""
        for rules, reason in self._grants(user, question.namespace):
            if any(_allows(rule, question) for rule in rules):
                return True, reason
        return False, ""

    def rules_for(self, user: User, namespace: str) -> Object:
        """All that the user may do in a namespace, as a SelfSubjectRulesReview tells it."""
        if MASTERS in user.groups:
            return _EVERYTHING
        resource_rules: list[Object] = []
        other_rules: list[Object] = []
        for rules, _ in self._grants(user, namespace):
            for rule in rules:
                keys = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")
                told = {key: rule[key] for key in keys if rule.get(key)}
                (other_rules if rule.get("nonResourceURLs") else resource_rules).append(told)
        return {"resourceRules": resource_rules, "nonResourceRules": other_rules, "incomplete": False}

    def _grants(self, user: User, namespace: str) -> Iterator[tuple[list[Object], str]]:
        for binding in self._list("clusterrolebindings", ""):
            yield from self._granted(user, binding, "", "ClusterRoleBinding")
        if namespace:
            for binding in self._list("rolebindings", namespace):
                yield from self._granted(user, binding, namespace, "RoleBinding")

    def _granted(
        self, user: User, binding: Object, namespace: str, kind: str
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


def _is_subject(user: User, subject: Object, namespace: str) -> bool:
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


def _allows(rule: Object, question: Question) -> bool:
    if not _has(rule.get("verbs"), question.verb):
        return False
    if question.path is not None:
        return any(_path_matches(url, question.path) for url in rule.get("nonResourceURLs", ()))
    wanted = f"{question.resource}/{question.subresource}" if question.subresource else question.resource
    resources = rule.get("resources", [])
    if not _has(resources, wanted) and f"*/{question.subresource}" not in resources:
        return False
    names = rule.get("resourceNames", [])
    return _has(rule.get("apiGroups"), question.group) and (not names or question.name in names)


def _path_matches(url: str, path: str) -> bool:
    return url in ("*", path) or (url.endswith("*") and path.startswith(url[:-1]))
