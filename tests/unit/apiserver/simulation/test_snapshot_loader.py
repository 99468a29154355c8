"""A cluster that starts with the objects of another one."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.explain.object_files import read_objects, read_snapshot
from bayplan.explain.snapshots.snapshot_writing import make_snapshot
from bayplan.testing.virtual_cluster import VirtualCluster

KUBECTL = """
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata:
    name: web-x
    namespace: team
    uid: pod-uid
    resourceVersion: "77"
    labels: {app: web}
    managedFields: [{manager: kubectl}]
    ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: set-uid, controller: true}]
  spec:
    nodeName: a
    priority: 50
    priorityClassName: gone
    serviceAccountName: web
    containers:
    - name: c
      image: i
      resources: {requests: {cpu: "1"}}
      volumeMounts: [{name: kube-api-access-1, mountPath: /x}]
    volumes:
    - {name: kube-api-access-1, projected: {sources: []}}
    - {name: data, persistentVolumeClaim: {claimName: data}}
  status: {phase: Running}
- apiVersion: apps/v1
  kind: ReplicaSet
  metadata:
    {name: web, namespace: team, uid: set-uid,
     ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: other, controller: true}]}
  spec:
    replicas: 1
    selector: {matchLabels: {app: web}}
    template:
      metadata: {labels: {app: web}}
      spec: {containers: [{name: c, image: i, env: [{name: A, value: b}]}]}
- apiVersion: v1
  kind: PersistentVolume
  metadata: {name: disk, uid: disk-uid, annotations: {pv.kubernetes.io/bound-by-controller: "yes"}}
  spec:
    capacity: {storage: 1Gi}
    accessModes: [ReadWriteOnce]
    storageClassName: fast
    hostPath: {path: /data}
    claimRef: {namespace: team, name: data, uid: claim-uid, resourceVersion: "5"}
  status: {phase: Bound}
- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata: {name: data, namespace: team, uid: claim-uid, annotations: {pv.kubernetes.io/bind-completed: "yes"}}
  spec:
    {storageClassName: fast, volumeName: disk, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
  status: {phase: Bound}
- apiVersion: v1
  kind: Pod
  metadata: {name: done, namespace: team, uid: done-uid}
  spec: {nodeName: a, containers: [{name: c, image: i}]}
  status: {phase: Succeeded}
- {apiVersion: v1, kind: Pod, metadata: {name: waits, namespace: team}, spec: {containers: [{name: c, image: i}]}}
- {apiVersion: v1, kind: Secret, metadata: {name: s, namespace: team}, data: {a: Yg==}}
- {apiVersion: v1, kind: Namespace, metadata: {name: team}}
- apiVersion: v1
  kind: Node
  metadata: {name: a, uid: node-uid}
  status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}, capacity: {cpu: "2", memory: 4Gi, pods: "10"}}
"""


def _started(snapshot: list[dict[str, Any]]) -> VirtualCluster:
    return VirtualCluster(0, snapshot=snapshot)


@pytest.mark.parametrize("is_captured", [False, True], ids=["as kubectl prints it", "captured"])
def test_bound_pods_stay_bound(is_captured: bool) -> None:
    """In whatever order the objects are listed; owners and volumes refer to the uids of the new cluster, so no
    controller makes a pod more, or collects one."""
    items = [dict(each) for each in read_objects(KUBECTL, "snapshot")]
    if is_captured:
        items = list(make_snapshot(read_snapshot({"snapshot": KUBECTL})).items)
    with _started(items) as cluster:
        cluster.wait(120)
        pods = {each["metadata"]["name"]: each for each in cluster.get("/api/v1/namespaces/team/pods")["items"]}
        owner = cluster.get("/apis/apps/v1/namespaces/team/replicasets/web")
        claim = cluster.get("/api/v1/namespaces/team/persistentvolumeclaims/data")
        volume = cluster.get("/api/v1/persistentvolumes/disk")
        left_out = cluster.cluster.left_out

    assert {name: pod["spec"]["nodeName"] for name, pod in pods.items()} == {"web-x": "a", "waits": "a"}
    assert pods["web-x"]["spec"]["priority"] == 50
    assert pods["web-x"]["metadata"]["ownerReferences"][0]["uid"] == owner["metadata"]["uid"] != "set-uid"
    assert claim["status"]["phase"] == volume["status"]["phase"] == "Bound"
    assert volume["spec"]["claimRef"]["uid"] == claim["metadata"]["uid"]
    assert "1 owner of ReplicaSet: it is not in the snapshot" in left_out
    if not is_captured:
        assert "1 Pod: it has ended" in left_out
        assert "1 Secret: never taken" in left_out


def test_what_the_server_refuses_is_listed() -> None:
    """The rest of the snapshot is there."""
    bad = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "UPPER"}, "spec": {"containers": []}}
    items = [bad, *(dict(each) for each in read_objects(KUBECTL, "snapshot"))]
    with _started(items) as cluster:
        assert any(line.startswith('1 Pod: Pod "UPPER" is invalid') for line in cluster.cluster.left_out)
        assert cluster.get("/api/v1/namespaces/team/pods/web-x")["spec"]["nodeName"] == "a"
