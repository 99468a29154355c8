"""Random clusters with pending pods, of every kind of rule: `scenario(seed)` is one line for the recorder.

The same seed gives the same scenario. Objects are as users write them; the recorder fills in what an API server
would. Each pod has a start time of its own, because kube-scheduler orders victims without one by chance.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

Object = dict[str, Any]

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
APPS, TEAMS, NAMESPACES = ("web", "db", "cache"), ("red", "blue"), ("default", "one", "two")
IMAGES = ("registry.example.com/app:1", "registry.example.com/data:2", "registry.example.com/tool:3")
DRIVERS = ("csi.example.com", "fast.example.com")


def scenario(seed: int) -> Object:
    """A line of the kind `decision`, without its results."""
    return _Scenario(random.Random(seed)).line(seed)  # noqa: S311  a cluster, not a secret


class _Scenario:
    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._has_priorities = self._maybe(0.4)
        self._has_volumes = self._maybe(0.3)
        self._n_started = 0

    def line(self, seed: int) -> Object:
        chance = self._chance
        nodes = [self._node(f"n{i:02}") for i in range(chance.randint(2, 9))]
        names = [node["metadata"]["name"] for node in nodes]
        volumes = self._volumes(names) if self._has_volumes else {}
        n_claims = len(volumes.get("pvcs", ()))
        return {
            "kind": "decision",
            "seed": seed,
            "config": self._config(),
            "namespaces": [
                _object("Namespace", name, labels={"team": team} if team else {})
                for name, team in zip(NAMESPACES, (None, *TEAMS), strict=True)
            ],
            "nodes": nodes,
            "services": [_object("Service", "s", spec={"selector": {"app": "web"}})] if self._maybe(0.3) else [],
            "pdbs": self._budgets(),
            "bound": [self._bound(f"b{i:02}", names) for i in range(chance.randint(0, 14))],
            "steps": [{"pod": self._pending(f"p{i:02}", names, n_claims)} for i in range(chance.randint(4, 9))],
            **volumes,
        }

    def _maybe(self, probability: float) -> bool:
        return self._chance.random() < probability

    def _some(self, *choices: tuple[float, Callable[[], Any]]) -> Iterator[Any]:
        for probability, make in choices:
            if self._maybe(probability):
                yield make()

    def _config(self) -> Object:
        chance = self._chance
        profile: Object = {"schedulerName": "default-scheduler"}
        args: list[Object] = []
        if self._maybe(0.2):
            kind = chance.choice(["LeastAllocated", "MostAllocated"])
            args.append({"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": kind}}})
        if self._maybe(0.15):
            args.append({"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": chance.randint(0, 100)}})
        if self._maybe(0.15):
            constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"}
            value = {"defaultingType": "List", "defaultConstraints": [constraint]}
            args.append({"name": "PodTopologySpread", "args": value})
        if args:
            profile["pluginConfig"] = args
        if self._maybe(0.1):
            name = chance.choice(["ImageLocality", "NodeResourcesBalancedAllocation", "InterPodAffinity"])
            profile["plugins"] = {"score": {"disabled": [{"name": name}]}}
        return {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "percentageOfNodesToScore": 100,
            "profiles": [profile],
        }

    # --- nodes ------------------------------------------------------------------------------------

    def _node(self, name: str) -> Object:
        chance = self._chance
        labels = {HOST: name, ZONE: chance.choice(["z1", "z2", "z3"]), "disk": chance.choice(["ssd", "hdd"])}
        if self._maybe(0.15):
            del labels[chance.choice([ZONE, HOST])]
        allocatable = {
            "cpu": chance.choice(["1", "2", "4", "8"]),
            "memory": chance.choice(["2Gi", "4Gi", "16Gi"]),
            "pods": chance.choice(["3", "8", "110"]),
            "ephemeral-storage": chance.choice(["10Gi", "100Gi"]),
        }
        if self._maybe(0.3):
            allocatable["example.com/gpu"] = str(chance.randint(1, 4))
        spec: Object = {}
        if taints := list(self._some((0.25, self._taint), (0.1, self._taint))):
            spec["taints"] = taints
        if self._maybe(0.1):
            spec["unschedulable"] = True
        images = [
            {"names": [image], "sizeBytes": chance.randint(10, 900) * 2**20}
            for image in IMAGES
            if self._maybe(0.4)
        ]
        status = {"allocatable": allocatable, "capacity": allocatable, "images": images}
        return _object("Node", name, namespace="", labels=labels, spec=spec, status=status)

    def _taint(self) -> Object:
        effect = self._chance.choice(["NoSchedule", "NoSchedule", "PreferNoSchedule", "NoExecute"])
        return {"key": self._chance.choice(["dedicated", "old"]), "value": "x", "effect": effect}

    def _budgets(self) -> list[Object]:
        """At most one for each app: with several, which one is counted first is chance."""
        return [
            _object(
                "PodDisruptionBudget",
                app,
                spec={"selector": {"matchLabels": {"app": app}}, "minAvailable": 1},
                status={
                    "disruptionsAllowed": self._chance.randint(0, 2),
                    "currentHealthy": 1,
                    "desiredHealthy": 1,
                    "expectedPods": 1,
                },
            )
            for app in APPS
            if self._has_priorities and self._maybe(0.4)
        ]

    # --- pods -------------------------------------------------------------------------------------

    def _pod(self, name: str) -> Object:
        chance = self._chance
        requests: Object = {}
        if self._maybe(0.85):
            requests["cpu"] = chance.choice(["100m", "250m", "500m", "1", "2"])
        if self._maybe(0.7):
            requests["memory"] = chance.choice(["64Mi", "512Mi", "1Gi", "3Gi"])
        if self._maybe(0.1):
            requests["ephemeral-storage"] = "4Gi"
        if self._maybe(0.1):
            requests["example.com/gpu"] = "1"
        resources = {"requests": requests}
        if "example.com/gpu" in requests:
            resources["limits"] = {"example.com/gpu": "1"}
        container: Object = {"name": "c", "image": chance.choice(IMAGES), "resources": resources}
        if self._maybe(0.1):
            container["ports"] = [{"containerPort": 80, "hostPort": chance.choice([8080, 9090])}]
        spec: Object = {"containers": [container]}
        if self._has_priorities:
            spec["priority"] = chance.choice([0, 0, 100, 1000])
        if self._maybe(0.15):
            spec["volumes"] = [{"name": "i", "image": {"reference": chance.choice(IMAGES)}}]
        labels = {"app": chance.choice(APPS), "version": chance.choice(["1", "2"])}
        namespace = chance.choice(NAMESPACES)
        return _object("Pod", name, namespace=namespace, labels=labels, spec=spec, uid=f"uid-{name}")

    def _bound(self, name: str, nodes: list[str]) -> Object:
        pod = self._pod(name)
        pod["spec"]["nodeName"] = self._chance.choice(nodes)
        if self._maybe(0.3):
            pod["spec"]["affinity"] = self._pod_affinity()
        self._n_started += 1
        minutes, seconds = divmod(self._n_started, 60)
        pod["status"] = {"phase": "Running", "startTime": f"2020-01-01T00:{minutes:02}:{seconds:02}Z"}
        return pod

    def _pending(self, name: str, nodes: list[str], n_claims: int) -> Object:
        pod, chance = self._pod(name), self._chance
        spec = pod["spec"]
        if self._maybe(0.15):
            spec["nodeSelector"] = {"disk": chance.choice(["ssd", "hdd"])}
        if self._maybe(0.35):
            spec["tolerations"] = list(self._some((0.8, self._toleration), (0.3, self._toleration)))
        if self._maybe(0.5):
            spec["affinity"] = {**self._pod_affinity(), **(self._node_affinity(nodes) if self._maybe(0.4) else {})}
        if self._maybe(0.4):
            spec["topologySpreadConstraints"] = list(self._some((1.0, self._spread), (0.3, self._spread)))
        if self._has_priorities and self._maybe(0.5):
            spec["priority"] = chance.choice([1000, 100_000])
            spec["containers"][0]["resources"] = {"requests": {"cpu": chance.choice(["1", "3"])}}
        if self._has_priorities and self._maybe(0.1):
            spec["preemptionPolicy"] = "Never"
        if n_claims and self._maybe(0.6):
            pod["metadata"]["namespace"] = "default"
            claim = {"claimName": f"c{chance.randrange(n_claims + 1)}"}
            spec.setdefault("volumes", []).append({"name": "v", "persistentVolumeClaim": claim})
        return pod

    def _toleration(self) -> Object:
        key = self._chance.choice(["dedicated", "old"])
        return self._chance.choice(
            [{"key": key, "operator": "Exists"}, {"key": key, "value": "x", "effect": "NoSchedule"}]
        )

    def _node_affinity(self, nodes: list[str]) -> Object:
        chance = self._chance
        expression = chance.choice(
            [
                {"key": "disk", "operator": "In", "values": ["ssd"]},
                {"key": ZONE, "operator": "NotIn", "values": ["z1"]},
                {"key": HOST, "operator": "Exists"},
            ]
        )
        term: Object = {"matchExpressions": [expression]}
        if self._maybe(0.2):
            term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [chance.choice(nodes)]}]}
        found: Object = {}
        if self._maybe(0.6):
            found[REQUIRED] = {"nodeSelectorTerms": [term]}
        if self._maybe(0.6):
            found[PREFERRED] = [
                {"weight": chance.randint(1, 100), "preference": {"matchExpressions": [expression]}}
            ]
        return {"nodeAffinity": found}

    def _pod_affinity(self) -> Object:
        found: Object = {}
        for name in ("podAffinity", "podAntiAffinity"):
            own: Object = {}
            if self._maybe(0.3):
                own[REQUIRED] = list(self._some((1.0, self._term), (0.2, self._term)))
            if self._maybe(0.4):
                own[PREFERRED] = [{"weight": self._chance.randint(1, 100), "podAffinityTerm": self._term()}]
            if own:
                found[name] = own
        return found

    def _term(self) -> Object:
        chance = self._chance
        term: Object = {
            "topologyKey": chance.choice([ZONE, HOST, "disk"]),
            "labelSelector": {"matchLabels": {"app": chance.choice(APPS)}},
        }
        if self._maybe(0.2):
            term["namespaces"] = [chance.choice(NAMESPACES)]
        if self._maybe(0.25):
            term["namespaceSelector"] = chance.choice(
                [
                    {},
                    {"matchLabels": {"team": "red"}},
                    {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["red"]}]},
                    {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]},
                ]
            )
        if self._maybe(0.15):
            term["matchLabelKeys"] = ["version"]
        return term

    def _spread(self) -> Object:
        chance = self._chance
        constraint: Object = {
            "maxSkew": chance.randint(1, 3),
            "topologyKey": chance.choice([ZONE, HOST, "disk"]),
            "whenUnsatisfiable": chance.choice(["DoNotSchedule", "ScheduleAnyway"]),
            "labelSelector": {"matchLabels": {"app": chance.choice(APPS)}},
        }
        if self._maybe(0.2):
            constraint["nodeTaintsPolicy"] = chance.choice(["Honor", "Ignore"])
        if self._maybe(0.2):
            constraint["nodeAffinityPolicy"] = chance.choice(["Honor", "Ignore"])
        if constraint["whenUnsatisfiable"] == "DoNotSchedule" and self._maybe(0.2):
            constraint["minDomains"] = chance.randint(1, 4)
        return constraint

    # --- volumes ----------------------------------------------------------------------------------

    def _volumes(self, nodes: list[str]) -> Object:
        chance = self._chance
        classes = [
            _object("StorageClass", driver.partition(".")[0], namespace="", provisioner=driver, **_WAITING)
            for driver in DRIVERS
        ]
        pvs, pvcs = [], []
        for i in range(chance.randint(1, 4)):
            storage_class, size = chance.choice(["csi", "fast"]), chance.randint(1, 8)
            claim = _claim(f"c{i}", storage_class, size)
            if self._maybe(0.5):
                pvs.append(self._volume(f"pv{i}", storage_class, size, f"c{i}"))
                claim["spec"]["volumeName"] = f"pv{i}"
                claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
                claim["status"] = {"phase": "Bound"}
            elif self._maybe(0.4):
                pvs.append(self._volume(f"pv{i}", storage_class, size + chance.randint(0, 4), ""))
            pvcs.append(claim)
        return {
            "storageclasses": classes,
            "pvs": pvs,
            "pvcs": pvcs,
            "csinodes": [self._csi_node(name) for name in nodes if self._maybe(0.8)],
            "csidrivers": [self._driver(name) for name in DRIVERS if self._maybe(0.7)],
            "capacities": [self._capacity(zone) for zone in ("z1", "z2", "z3") if self._maybe(0.7)],
        }

    def _volume(self, name: str, storage_class: str, size: int, claim: str) -> Object:
        spec: Object = {
            "capacity": {"storage": f"{size}Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage_class,
            "csi": {"driver": f"{storage_class}.example.com", "volumeHandle": name},
        }
        if self._maybe(0.6):
            zones = {"key": ZONE, "operator": "In", "values": [self._chance.choice(["z1", "z2"])]}
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [zones]}]}}
        if claim:
            spec["claimRef"] = {"namespace": "default", "name": claim, "uid": f"uid-{claim}"}
        phase = "Bound" if claim else "Available"
        return _object("PersistentVolume", name, namespace="", spec=spec, status={"phase": phase})

    def _csi_node(self, name: str) -> Object:
        drivers = [
            {
                "name": driver,
                "nodeID": name,
                "topologyKeys": [],
                "allocatable": {"count": self._chance.randint(0, 3)},
            }
            for driver in DRIVERS
            if self._maybe(0.7)
        ]
        return _object("CSINode", name, namespace="", spec={"drivers": drivers})

    def _driver(self, name: str) -> Object:
        spec = {"storageCapacity": self._maybe(0.6), "preventPodSchedulingIfMissing": self._maybe(0.5)}
        return _object("CSIDriver", name, namespace="", spec=spec)

    def _capacity(self, zone: str) -> Object:
        """One for each zone: which of several is scored is chance."""
        return _object(
            "CSIStorageCapacity",
            zone,
            storageClassName="csi",
            capacity=f"{self._chance.randint(1, 20)}Gi",
            nodeTopology={"matchLabels": {ZONE: zone}},
        )


_WAITING: Object = {"volumeBindingMode": "WaitForFirstConsumer"}


def _claim(name: str, storage_class: str, size: int) -> Object:
    spec = {
        "storageClassName": storage_class,
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": f"{size}Gi"}},
    }
    return _object("PersistentVolumeClaim", name, spec=spec, status={"phase": "Pending"}, uid=f"uid-{name}")


def _object(
    kind: str, name: str, *, namespace: str = "default", labels: Object | None = None, uid: str = "", **fields: Any
) -> Object:
    metadata: Object = {"name": name, "uid": uid or f"{kind}-{name}"}
    if namespace and kind != "Namespace":
        metadata["namespace"] = namespace
    if labels:
        metadata["labels"] = labels
    return {"metadata": metadata, **fields}
