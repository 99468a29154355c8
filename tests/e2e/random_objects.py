"""Random objects, and random changes to them, for comparing two API servers.

Names and values come from few, so that changes meet what is there; nearly all of it is valid, so that most changes
go through.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterable
from typing import Any

from tests.e2e.api import Object

NAMES = ("a", "b", "c", "d")
#: Lists that strategic merge patch merges, and the key that tells their elements apart.
MERGED = {
    "containers": "name",
    "env": "name",
    "volumes": "name",
    "topologySpreadConstraints": "topologyKey",
    "imagePullSecrets": "name",
    "hostAliases": "ip",
    "secrets": "name",
}


class RandomObjects:
    """Makes them; the same seed makes the same."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311
        self.makers: dict[str, Callable[[], Object]] = {
            "Deployment": self._deployment,
            "ConfigMap": self._config_map,
            "Service": self._service,
            "Node": self._node,
            "ServiceAccount": self._service_account,
        }

    def maybe(self, chance: float) -> bool:
        return self.random.random() < chance

    def some(self, values: Iterable[Any], least: int = 0) -> list[Any]:
        values = list(values)
        return self.random.sample(values, self.random.randint(least, len(values)))

    # --- objects ----------------------------------------------------------------------------------

    def parts(self, kind: str) -> Object:
        """An object of the kind without its name: to create it, or to change one with."""
        return self.makers[kind]()

    def _metadata(self) -> Object:
        metadata: Object = {}
        if self.maybe(0.6):
            metadata["labels"] = {key: self.random.choice("xyz") for key in self.some(NAMES)}
        if self.maybe(0.6):
            metadata["annotations"] = {key: self.random.choice("xyz") for key in self.some(NAMES)}
        if self.maybe(0.3):
            metadata["finalizers"] = [f"example.com/{key}" for key in self.some(NAMES)]
        return metadata

    def _config_map(self) -> Object:
        return {"metadata": self._metadata(), "data": {key: self.random.choice("xyz") for key in self.some(NAMES)}}

    def _service_account(self) -> Object:
        named = {field: [{"name": name} for name in self.some(NAMES)] for field in ("secrets", "imagePullSecrets")}
        return {"metadata": self._metadata(), **named}

    def _node(self) -> Object:
        metadata = self._metadata()
        metadata.pop("finalizers", None)
        taints = [{"key": key, "effect": "NoSchedule"} for key in self.some(NAMES)]
        return {"metadata": metadata, "spec": {"taints": taints} if self.maybe(0.6) else {}}

    def _service(self) -> Object:
        ports = [
            {"port": 80 + i, "name": f"p{i}", "protocol": self.random.choice(["TCP", "UDP"])}
            for i in self.some(range(4), least=1)
        ]
        # Never without a selector: such a Service would ask for addresses of two families.
        selector = dict.fromkeys(["app", *self.some(NAMES)], "v")
        return {
            "metadata": self._metadata(),
            "spec": {"clusterIP": "None", "ports": ports, "selector": selector},
        }

    def _deployment(self) -> Object:
        annotations = {key: self.random.choice("xyz") for key in self.some(NAMES)}
        spec: Object = {
            "selector": {"matchLabels": {"app": "w"}},
            "template": {
                "metadata": {"labels": {"app": "w"}, "annotations": annotations},
                "spec": self._pod_spec(),
            },
        }
        if self.maybe(0.5):
            spec["replicas"] = self.random.randint(0, 3)
        return {"metadata": self._metadata(), "spec": spec}

    def _pod_spec(self) -> Object:
        spec: Object = {"containers": [self._container(name) for name in self.some(NAMES, least=1)]}
        lists: dict[str, Callable[[str], Object]] = {
            "volumes": lambda name: {"name": name, "emptyDir": {}},
            "tolerations": lambda name: {"key": name, "operator": "Exists"},
            "imagePullSecrets": lambda name: {"name": name},
            "topologySpreadConstraints": lambda name: {
                "topologyKey": name,
                "maxSkew": self.random.randint(1, 3),
                "whenUnsatisfiable": self.random.choice(["DoNotSchedule", "ScheduleAnyway"]),
            },
        }
        for field, make in lists.items():
            if self.maybe(0.3):
                spec[field] = [make(name) for name in self.some(NAMES)]
        if self.maybe(0.3):
            spec["nodeSelector"] = dict.fromkeys(self.some(NAMES), "v")
        return spec

    def _container(self, name: str) -> Object:
        container: Object = {"name": name, "image": self.random.choice(["i:1", "i:2"])}
        if self.maybe(0.6):
            container["env"] = [{"name": key, "value": self.random.choice("12")} for key in self.some("ABCD")]
        if self.maybe(0.4):
            ports = self.some(range(4))
            container["ports"] = [{"containerPort": 80 + i, "name": f"p{i}"} for i in ports]
        if self.maybe(0.3):
            amount = self.random.choice(["1", "2", "500m"])
            container["resources"] = {"requests": {"cpu": amount}}
        if self.maybe(0.3):
            container["command"] = self.some("xyz")
        return container

    # --- changes ----------------------------------------------------------------------------------

    def merge_patch(self, kind: str) -> Object:
        patch: Object = self._with_nulls(self.parts(kind))
        return patch

    def _with_nulls(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: None if self.maybe(0.05) else self._with_nulls(member) for key, member in value.items()}
        return value

    def strategic_patch(self, kind: str) -> Object:
        patch: Object = self._directed(self.parts(kind))
        return patch

    def _directed(self, value: Any) -> Any:
        """The value with directives in it."""
        if not isinstance(value, dict):
            return value
        result: Object = {}
        for key, member in value.items():
            if self.maybe(0.02):
                result[key] = None
            elif key in MERGED and isinstance(member, list):
                result |= self._directed_list(key, member)
            else:
                result[key] = self._directed(member)
        if self.maybe(0.01):
            result["$patch"] = self.random.choice(["replace", "delete"])
        return result

    def _directed_list(self, field: str, elements: list[Any]) -> Object:
        key = MERGED[field]
        result: Object = {field: [self._directed(element) for element in elements]}
        kept = []
        for element in result[field]:
            if self.maybe(0.15):
                element["$patch"] = "delete"
            elif key in element:
                kept.append({key: element[key]})
        if self.maybe(0.3) and kept:
            result[f"$setElementOrder/{field}"] = kept
        if self.maybe(0.05):
            result[field].insert(0, {"$patch": "replace"})
        return result

    def operations(self, kind: str, current: Object) -> list[Object]:
        """A JSON patch of an object."""
        open_to_change = {key: current[key] for key in current if key in ("spec", "data", "secrets", "metadata")}
        metadata = open_to_change["metadata"]
        open_to_change["metadata"] = {
            k: metadata[k] for k in ("labels", "annotations", "finalizers") if k in metadata
        }
        there = list(_pointers(open_to_change))
        new = dict(_pointers(self.parts(kind)))
        return [self._operation(there, new) for _ in range(self.random.randint(1, 3))]

    def _operation(self, there: list[tuple[str, Any]], new: dict[str, Any]) -> Object:
        path, value = self.random.choice(there)
        if self.maybe(0.1):
            path = path.rpartition("/")[0] + self.random.choice(["/-", "/zz", "/-1", "/9", "/0"])
        op = self.random.choice(["add", "replace", "remove", "test", "copy", "move"])
        operation: Object = {"op": op, "path": path}
        if op in ("copy", "move"):
            operation["from"] = self.random.choice(there)[0]
        elif op != "remove":
            operation["value"] = copy.deepcopy(new.get(path, value) if self.maybe(0.5) else value)
        return operation


def _pointers(value: Any, path: str = "") -> Iterable[tuple[str, Any]]:
    if path:
        yield path, value
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        step = str(key).replace("~", "~0").replace("/", "~1")
        yield from _pointers(member, f"{path}/{step}")
