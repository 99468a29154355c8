"""The generic registry: names, versions, finalizers, grace periods, dry runs."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.unit.apiserver.direct_client import CONFIG_MAPS, DirectClient

PODS = "/api/v1/namespaces/default/pods"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
MERGE = "application/merge-patch+json"


@pytest.fixture
def client() -> DirectClient:
    return DirectClient()


def pod(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "x"}], **spec}}


# --- create ---------------------------------------------------------------------------------------


def test_the_server_sets_system_metadata(client: DirectClient) -> None:
    """Values that a client sets for uid and times are ignored."""
    stated = {
        "uid": "mine",
        "creationTimestamp": "2001-01-01T00:00:00Z",
        "deletionTimestamp": "2001-01-01T00:00:00Z",
    }
    metadata = client.create("a", **stated)["metadata"]

    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", metadata["uid"])
    assert metadata["creationTimestamp"] == "2023-11-14T22:13:20Z"
    assert "deletionTimestamp" not in metadata


def test_names_are_generated(client: DirectClient) -> None:
    """Five letters that form no words, after a prefix that is cut to leave room for them."""
    _, short = client.request("POST", CONFIG_MAPS, {"metadata": {"generateName": "web-"}})
    _, long = client.request("POST", CONFIG_MAPS, {"metadata": {"generateName": "x" * 70}})

    assert re.fullmatch("web-[bcdfghjklmnpqrstvwxz2456789]{5}", short["metadata"]["name"])
    assert len(long["metadata"]["name"]) == 63


def test_a_taken_generated_name_is_retryable() -> None:
    """The error tells the client to retry."""

    class Unlucky:
        def getrandbits(self, k: int, /) -> int:
            return 7

    client = DirectClient(randomness=Unlucky())
    client.request("POST", CONFIG_MAPS, {"metadata": {"generateName": "a-"}})
    response = client.response("POST", CONFIG_MAPS, {"metadata": {"generateName": "a-"}})

    assert response.status == 409
    assert response.headers == {"Retry-After": "1"}
    assert b"the server was not able to generate a unique name for the object" in response.body


def test_a_name_is_taken_once(client: DirectClient) -> None:
    client.create("a", finalizers=["example.com/f"])
    body = {"metadata": {"name": "a"}}
    _, there = client.request("POST", CONFIG_MAPS, body)
    client.request("DELETE", f"{CONFIG_MAPS}/a")
    _, leaving = client.request("POST", CONFIG_MAPS, body)

    assert there["message"] == 'configmaps "a" already exists'
    assert leaving["message"] == 'object is being deleted: configmaps "a" already exists'


def test_a_dry_run_leaves_no_trace(client: DirectClient) -> None:
    before = client.server.store.version
    status, obj = client.request("POST", f"{CONFIG_MAPS}?dryRun=All", {"metadata": {"name": "a"}})

    assert status == 201
    assert "resourceVersion" not in obj["metadata"]
    assert client.server.store.version == before


def test_owners_are_named_once(client: DirectClient) -> None:
    """A duplicate owner is removed with a warning."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
    body = {"metadata": {"name": "a", "ownerReferences": [owner, {**owner, "uid": "w"}, owner]}}
    response = client.response("POST", CONFIG_MAPS, body)

    assert [
        each["uid"] for each in client.request("GET", f"{CONFIG_MAPS}/a")[1]["metadata"]["ownerReferences"]
    ] == [
        "u",
        "w",
    ]
    assert response.warnings[0].endswith("duplicate UID(s) observed: u")


# --- update ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metadata", "status"),
    [
        pytest.param({}, 200, id="no version"),
        pytest.param({"resourceVersion": "{version}"}, 200, id="the version that is there"),
        pytest.param({"resourceVersion": "1"}, 409, id="an old version"),
        pytest.param({"resourceVersion": "abc"}, 500, id="not a version"),
        pytest.param({"uid": "{uid}"}, 200, id="the uid that it has"),
        pytest.param({"uid": "other"}, 409, id="another uid"),
        pytest.param({"name": "b"}, 400, id="another name"),
        pytest.param({"namespace": "other"}, 400, id="another namespace"),
    ],
)
def test_an_update_must_match_uid_and_version(client: DirectClient, metadata: dict[str, str], status: int) -> None:
    made = client.create("a")["metadata"]
    meant = {
        key: value.format(version=made["resourceVersion"], uid=made["uid"]) for key, value in metadata.items()
    }

    answered, _ = client.request(
        "PUT", f"{CONFIG_MAPS}/a", {"metadata": {"name": "a", **meant}, "data": {"x": "1"}}
    )

    assert answered == status


def test_an_update_without_changes_is_not_stored(client: DirectClient) -> None:
    made = client.create("a", labels={"a": "b"})
    _, same = client.request("PUT", f"{CONFIG_MAPS}/a", {"metadata": {"name": "a", "labels": {"a": "b"}}})

    assert same["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


def test_generation_counts_changes_of_the_spec(client: DirectClient) -> None:
    """Changes of labels and status do not count."""
    client.request("POST", PODS, pod("p"))
    generations = []
    for path, patch in (
        (f"{PODS}/p", {"metadata": {"labels": {"a": "b"}}}),
        (f"{PODS}/p/status", {"status": {"phase": "Running"}}),
        (f"{PODS}/p", {"spec": {"activeDeadlineSeconds": 5}}),
    ):
        _, obj = client.request("PATCH", path, patch, content_type=MERGE)
        generations.append(obj["metadata"]["generation"])

    assert generations == [1, 1, 2]


# --- delete ---------------------------------------------------------------------------------------


def test_an_immediate_deletion_returns_success(client: DirectClient) -> None:
    uid = client.create("a")["metadata"]["uid"]
    status, answer = client.request("DELETE", f"{CONFIG_MAPS}/a")

    assert (status, answer["status"]) == (200, "Success")
    assert answer["details"] == {"name": "a", "kind": "configmaps", "uid": uid}


def test_finalizers_hold_an_object(client: DirectClient) -> None:
    """It is removed with the last one; until then it is marked as being deleted."""
    client.create("a", finalizers=["example.com/f"])
    _, marked = client.request("DELETE", f"{CONFIG_MAPS}/a")
    status, _ = client.request("PATCH", f"{CONFIG_MAPS}/a", {"metadata": {"finalizers": None}}, content_type=MERGE)

    assert marked["metadata"]["deletionTimestamp"] == "2023-11-14T22:13:20Z"
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 0
    assert status == 200
    assert client.request("GET", f"{CONFIG_MAPS}/a")[0] == 404


@pytest.mark.parametrize(
    ("options", "finalizers", "status"),
    [
        ({"propagationPolicy": "Foreground"}, ["foregroundDeletion"], 200),
        ({"propagationPolicy": "Orphan"}, ["orphan"], 200),
        ({"orphanDependents": True}, ["orphan"], 200),
        ({"propagationPolicy": "Background"}, None, 200),
    ],
    ids=str,
)
def test_propagation_sets_garbage_collector_finalizers(
    client: DirectClient, options: dict[str, Any], finalizers: list[str] | None, status: int
) -> None:
    """A finalizer tells the garbage collector; background deletion does not wait."""
    client.create("a")
    answered, answer = client.request("DELETE", f"{CONFIG_MAPS}/a", options)

    assert answered == status
    assert answer["metadata"].get("finalizers") == finalizers
    assert (client.request("GET", f"{CONFIG_MAPS}/a")[0] == 404) is (finalizers is None)


def test_grace_can_only_become_shorter(client: DirectClient) -> None:
    """A pod on a node is removed by its kubelet, or by a forced deletion."""
    client.request("POST", PODS, pod("p", nodeName="n1", terminationGracePeriodSeconds=30))
    left = []
    for seconds in (None, 10, 20, 0):
        body = {} if seconds is None else {"gracePeriodSeconds": seconds}
        _, obj = client.request("DELETE", f"{PODS}/p", body)
        left.append(obj["metadata"]["deletionGracePeriodSeconds"])

    assert left == [30, 10, 10, 0]
    assert client.request("GET", f"{PODS}/p")[0] == 404


def test_a_shorter_grace_period_moves_the_deadline(client: DirectClient) -> None:
    """Shortened after a while: counted from when deletion began, but never into the past."""
    client.request("POST", PODS, pod("p", nodeName="n1"))
    client.request("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 30})
    client.clock.advance(5)
    _, sooner = client.request("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 10})
    client.clock.advance(2)
    _, overdue = client.request("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 3})

    assert sooner["metadata"]["deletionTimestamp"] == "2023-11-14T22:13:30Z"
    assert overdue["metadata"]["deletionTimestamp"] == "2023-11-14T22:13:27Z"
    assert overdue["metadata"]["deletionGracePeriodSeconds"] == 1


def test_a_pod_without_a_node_is_marked_then_removed(client: DirectClient) -> None:
    """Watchers see it marked, then gone, as with kube-apiserver."""
    _, made = client.request("POST", PODS, pod("p"))
    client.request("DELETE", f"{PODS}/p")
    changes = client.server.store.changes_since("pods", int(made["metadata"]["resourceVersion"]))

    assert [change.after is None for change in changes] == [False, True]


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"kind": "Foo"}, 400, 'no kind "Foo" is registered for version "meta.k8s.io/v1"'),
        ({"propagationPolicy": "Foo"}, 422, 'supported values: "Foreground", "Background", "Orphan", "nil"'),
        ({"propagationPolicy": "Orphan", "orphanDependents": True}, 422, "cannot be both set"),
        ({"dryRun": ["Some"]}, 422, 'supported values: "All"'),
        ({"gracePeriodSeconds": "x"}, 400, "gracePeriodSeconds"),
        ([], 400, "cannot unmarshal"),
        ({"preconditions": {"uid": "x"}}, 409, "the UID in the precondition (x) does not match the UID in record"),
    ],
    ids=str,
)
def test_wrong_options_delete_nothing(client: DirectClient, body: object, status: int, message: str) -> None:
    client.create("a")
    answered, answer = client.request("DELETE", f"{CONFIG_MAPS}/a", body)

    assert answered == status
    assert message in answer["message"]
    assert client.request("GET", f"{CONFIG_MAPS}/a")[0] == 200


@pytest.mark.parametrize(
    ("preconditions", "why"),
    [
        ({"uid": "x"}, "UID in precondition: x, UID in object meta: {uid}"),
        (
            {"resourceVersion": "1"},
            "ResourceVersion in precondition: 1, ResourceVersion in object meta: {version}",
        ),
    ],
    ids=["another uid", "an old version"],
)
def test_namespaces_have_their_own_precondition_messages(
    client: DirectClient, preconditions: dict[str, str], why: str
) -> None:
    made = client.create("s", "/api/v1/namespaces")["metadata"]
    status, answer = client.request("DELETE", "/api/v1/namespaces/s", {"preconditions": preconditions})

    reason = why.format(uid=made["uid"], version=made["resourceVersion"])
    assert status == 409
    assert answer["message"] == (f'Operation cannot be fulfilled on namespaces "s": Precondition failed: {reason}')


@pytest.mark.parametrize(
    ("path", "key"),
    [
        (CONFIG_MAPS, "/registry/configmaps/default/a"),
        ("/api/v1/nodes", "/registry/minions/a"),
        ("/apis/coordination.k8s.io/v1/namespaces/default/leases", "/registry/leases/default/a"),
    ],
)
def test_conflicts_name_the_key_in_etcd(client: DirectClient, path: str, key: str) -> None:
    client.create("a", path)
    _, answer = client.request("PUT", f"{path}/a", {"metadata": {"name": "a", "uid": "other"}})

    assert f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, " in answer["message"]


def test_a_collection_is_deleted_by_selector(client: DirectClient) -> None:
    """The answer lists what was deleted, as it was."""
    for name in ("a", "b"):
        client.create(name, labels={"app": name})
    _, deleted = client.request("DELETE", f"{CONFIG_MAPS}?labelSelector=app%3Da")

    assert [each["metadata"]["name"] for each in deleted["items"]] == ["a"]
    assert client.names(CONFIG_MAPS) == ["b"]
    assert client.request("DELETE", "/api/v1/configmaps")[0] == 405
