"""The generic way of objects: names, versions, finalizers, grace, dry runs."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.unit.apiserver.asking import CONFIG_MAPS, Asker

PODS = "/api/v1/namespaces/default/pods"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
MERGE = "application/merge-patch+json"


@pytest.fixture
def asker() -> Asker:
    return Asker()


def pod(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "x"}], **spec}}


# --- create ---------------------------------------------------------------------------------------


def test_the_server_has_its_say_in_metadata(asker: Asker) -> None:
    """What a client says of uid and times does not count."""
    stated = {
        "uid": "mine",
        "creationTimestamp": "2001-01-01T00:00:00Z",
        "deletionTimestamp": "2001-01-01T00:00:00Z",
    }
    metadata = asker.create("a", **stated)["metadata"]

    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", metadata["uid"])
    assert metadata["creationTimestamp"] == "2023-11-14T22:13:20Z"
    assert "deletionTimestamp" not in metadata


def test_names_are_generated(asker: Asker) -> None:
    """Five letters that spell nothing, on a prefix that leaves room for them."""
    _, short = asker.ask("POST", CONFIG_MAPS, {"metadata": {"generateName": "web-"}})
    _, long = asker.ask("POST", CONFIG_MAPS, {"metadata": {"generateName": "x" * 70}})

    assert re.fullmatch("web-[bcdfghjklmnpqrstvwxz2456789]{5}", short["metadata"]["name"])
    assert len(long["metadata"]["name"]) == 63


def test_a_generated_name_that_is_taken_is_to_be_tried_again() -> None:
    """The client hears that the server had bad luck, and when to come again."""

    class Unlucky:
        def getrandbits(self, k: int, /) -> int:
            return 7

    asker = Asker(randomness=Unlucky())
    asker.ask("POST", CONFIG_MAPS, {"metadata": {"generateName": "a-"}})
    response = asker.response("POST", CONFIG_MAPS, {"metadata": {"generateName": "a-"}})

    assert response.status == 409
    assert response.headers == {"Retry-After": "1"}
    assert b"the server was not able to generate a unique name for the object" in response.body


def test_a_name_is_taken_once(asker: Asker) -> None:
    asker.create("a", finalizers=["example.com/f"])
    body = {"metadata": {"name": "a"}}
    _, there = asker.ask("POST", CONFIG_MAPS, body)
    asker.ask("DELETE", f"{CONFIG_MAPS}/a")
    _, leaving = asker.ask("POST", CONFIG_MAPS, body)

    assert there["message"] == 'configmaps "a" already exists'
    assert leaving["message"] == 'object is being deleted: configmaps "a" already exists'


def test_a_dry_run_leaves_no_trace(asker: Asker) -> None:
    before = asker.server.store.version
    status, obj = asker.ask("POST", f"{CONFIG_MAPS}?dryRun=All", {"metadata": {"name": "a"}})

    assert status == 201
    assert "resourceVersion" not in obj["metadata"]
    assert asker.server.store.version == before


def test_owners_are_named_once(asker: Asker) -> None:
    """The same owner twice is said once, and warned of."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
    body = {"metadata": {"name": "a", "ownerReferences": [owner, {**owner, "uid": "w"}, owner]}}
    response = asker.response("POST", CONFIG_MAPS, body)

    assert [each["uid"] for each in asker.ask("GET", f"{CONFIG_MAPS}/a")[1]["metadata"]["ownerReferences"]] == [
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
def test_an_update_must_mean_the_object(asker: Asker, metadata: dict[str, str], status: int) -> None:
    made = asker.create("a")["metadata"]
    meant = {
        key: value.format(version=made["resourceVersion"], uid=made["uid"]) for key, value in metadata.items()
    }

    answered, _ = asker.ask("PUT", f"{CONFIG_MAPS}/a", {"metadata": {"name": "a", **meant}, "data": {"x": "1"}})

    assert answered == status


def test_an_update_that_changes_nothing_is_none(asker: Asker) -> None:
    made = asker.create("a", labels={"a": "b"})
    _, same = asker.ask("PUT", f"{CONFIG_MAPS}/a", {"metadata": {"name": "a", "labels": {"a": "b"}}})

    assert same["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


def test_generation_counts_what_is_wanted(asker: Asker) -> None:
    """Labels and status are no new wish."""
    asker.ask("POST", PODS, pod("p"))
    generations = []
    for path, patch in (
        (f"{PODS}/p", {"metadata": {"labels": {"a": "b"}}}),
        (f"{PODS}/p/status", {"status": {"phase": "Running"}}),
        (f"{PODS}/p", {"spec": {"activeDeadlineSeconds": 5}}),
    ):
        _, obj = asker.ask("PATCH", path, patch, content_type=MERGE)
        generations.append(obj["metadata"]["generation"])

    assert generations == [1, 1, 2]


# --- delete ---------------------------------------------------------------------------------------


def test_a_deletion_at_once_answers_with_success(asker: Asker) -> None:
    uid = asker.create("a")["metadata"]["uid"]
    status, answer = asker.ask("DELETE", f"{CONFIG_MAPS}/a")

    assert (status, answer["status"]) == (200, "Success")
    assert answer["details"] == {"name": "a", "kind": "configmaps", "uid": uid}


def test_finalizers_hold_an_object(asker: Asker) -> None:
    """It goes with the last of them; until then it says that it is being deleted."""
    asker.create("a", finalizers=["example.com/f"])
    _, marked = asker.ask("DELETE", f"{CONFIG_MAPS}/a")
    status, _ = asker.ask("PATCH", f"{CONFIG_MAPS}/a", {"metadata": {"finalizers": None}}, content_type=MERGE)

    assert marked["metadata"]["deletionTimestamp"] == "2023-11-14T22:13:20Z"
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 0
    assert status == 200
    assert asker.ask("GET", f"{CONFIG_MAPS}/a")[0] == 404


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
def test_dependents_are_the_garbage_collectors_business(
    asker: Asker, options: dict[str, Any], finalizers: list[str] | None, status: int
) -> None:
    """It is told by a finalizer; in the background there is nothing to wait for."""
    asker.create("a")
    answered, answer = asker.ask("DELETE", f"{CONFIG_MAPS}/a", options)

    assert answered == status
    assert answer["metadata"].get("finalizers") == finalizers
    assert (asker.ask("GET", f"{CONFIG_MAPS}/a")[0] == 404) is (finalizers is None)


def test_grace_can_only_become_shorter(asker: Asker) -> None:
    """A pod on a node ends when its kubelet says so, or when somebody insists."""
    asker.ask("POST", PODS, pod("p", nodeName="n1", terminationGracePeriodSeconds=30))
    left = []
    for seconds in (None, 10, 20, 0):
        body = {} if seconds is None else {"gracePeriodSeconds": seconds}
        _, obj = asker.ask("DELETE", f"{PODS}/p", body)
        left.append(obj["metadata"]["deletionGracePeriodSeconds"])

    assert left == [30, 10, 10, 0]
    assert asker.ask("GET", f"{PODS}/p")[0] == 404


def test_the_end_of_grace_moves_with_it(asker: Asker) -> None:
    """Shortened after a while: counted from when deletion began, but never into the past."""
    asker.ask("POST", PODS, pod("p", nodeName="n1"))
    asker.ask("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 30})
    asker.clock.advance(5)
    _, sooner = asker.ask("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 10})
    asker.clock.advance(2)
    _, overdue = asker.ask("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 3})

    assert sooner["metadata"]["deletionTimestamp"] == "2023-11-14T22:13:30Z"
    assert overdue["metadata"]["deletionTimestamp"] == "2023-11-14T22:13:27Z"
    assert overdue["metadata"]["deletionGracePeriodSeconds"] == 1


def test_a_pod_without_a_node_goes_in_two_steps(asker: Asker) -> None:
    """Watchers see it marked, then gone, as with kube-apiserver."""
    _, made = asker.ask("POST", PODS, pod("p"))
    asker.ask("DELETE", f"{PODS}/p")
    changes = asker.server.store.changes_since("pods", int(made["metadata"]["resourceVersion"]))

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
def test_wrong_options_delete_nothing(asker: Asker, body: object, status: int, message: str) -> None:
    asker.create("a")
    answered, answer = asker.ask("DELETE", f"{CONFIG_MAPS}/a", body)

    assert answered == status
    assert message in answer["message"]
    assert asker.ask("GET", f"{CONFIG_MAPS}/a")[0] == 200


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
def test_namespaces_say_it_in_their_own_words(asker: Asker, preconditions: dict[str, str], why: str) -> None:
    made = asker.create("s", "/api/v1/namespaces")["metadata"]
    status, answer = asker.ask("DELETE", "/api/v1/namespaces/s", {"preconditions": preconditions})

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
def test_conflicts_name_the_place_in_etcd(asker: Asker, path: str, key: str) -> None:
    asker.create("a", path)
    _, answer = asker.ask("PUT", f"{path}/a", {"metadata": {"name": "a", "uid": "other"}})

    assert f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, " in answer["message"]


def test_a_collection_is_deleted_by_selector(asker: Asker) -> None:
    """The answer lists what was deleted, as it was."""
    for name in ("a", "b"):
        asker.create(name, labels={"app": name})
    _, deleted = asker.ask("DELETE", f"{CONFIG_MAPS}?labelSelector=app%3Da")

    assert [each["metadata"]["name"] for each in deleted["items"]] == ["a"]
    assert asker.names(CONFIG_MAPS) == ["b"]
    assert asker.ask("DELETE", "/api/v1/configmaps")[0] == 405
