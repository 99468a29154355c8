"""What a recording cannot hold, asked of the embedded API server and of a real one: the answers are the same."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
from tests.e2e.api import Api, ApiError, Object, eventually
from tests.e2e.control_plane import ControlPlane
from tests.e2e.embedded import EmbeddedServer

pytestmark = pytest.mark.e2e

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
#: As long as a test is willing to wait for a compaction of etcd.
COMPACTION_SECONDS = 60


class Server(Protocol):
    """Either of the two."""

    api: Api

    def forget_history(self) -> None:
        """All that has happened so far is too old to be asked for."""


class RealServer:
    """kube-apiserver, told to compact etcd every second."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self.api = plane.api

    def forget_history(self) -> None:
        """etcd forgets with its compaction; the API server's own memory begins with its start."""
        listed = self.api.request("GET", CONFIG_MAPS)["metadata"]["resourceVersion"]
        exact = {"resourceVersion": listed, "resourceVersionMatch": "Exact"}
        self._plane.restart_api_server()
        self.api.create(config_map("after-the-restart"))
        eventually(lambda: raw(self.api, exact)[0] == 410, timeout=COMPACTION_SECONDS, interval=0.5)


@pytest.fixture(params=["embedded", "real"])
def server(
    request: pytest.FixtureRequest, tmp_path: Path, start_control_plane: Callable[..., ControlPlane]
) -> Iterator[Server]:
    if request.param == "real":
        yield RealServer(start_control_plane(api_server_arguments=["--etcd-compaction-interval=1s"]))
    else:
        with EmbeddedServer(tmp_path) as embedded:
            yield embedded


def config_map(name: str, **data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def raw(api: Api, options: dict[str, str], path: str = CONFIG_MAPS) -> tuple[int, Object]:
    """Status and answer of a list, whatever they are."""
    try:
        return 200, api.request("GET", path, options=options)
    except ApiError as error:
        return error.status, {"reason": error.reason, "message": str(error)}


def version_of(obj: Object) -> int:
    return int(obj["metadata"]["resourceVersion"])


Seen = tuple[str, str, int]


def seen_of(type_: str, obj: Object) -> Seen:
    return type_, obj["metadata"]["name"], version_of(obj)


# --- watches ---------------------------------------------------------------------------------------


def write_all(api: Api, worker: int, count: int) -> None:
    for i in range(count):
        name = f"w{worker}-{i}"
        api.create(config_map(name))
        api.request(
            "PATCH", f"{CONFIG_MAPS}/{name}", {"data": {"x": "1"}}, content_type="application/merge-patch+json"
        )
        if i % 2:
            api.request("DELETE", f"{CONFIG_MAPS}/{name}")


def follow(api: Api, since: int, until: Callable[[Seen], bool], *, cut_after: int | None = None) -> list[Seen]:
    """Everything that happens, up to the end; cut off and resumed after so many events, if asked."""
    seen: list[Seen] = []
    while True:
        position = str(seen[-1][2] if seen else since)
        for i, (type_, obj) in enumerate(api.watch("ConfigMap", namespace="default", resourceVersion=position)):
            seen.append(seen_of(type_, obj))
            if until(seen[-1]):
                return seen
            if cut_after is not None and i + 1 == cut_after:
                break


def test_a_watch_resumes_under_load(server: Server) -> None:
    """Cut off again and again while others write, a watch sees what one that was never cut sees."""
    api, workers, count = server.api, 4, 40
    since = version_of(api.create(config_map("begin")))
    found: dict[str, list[Seen]] = {}

    def is_last(seen: Seen) -> bool:
        return seen[1] == "end"

    def run(name: str, cut_after: int | None) -> threading.Thread:
        thread = threading.Thread(
            target=lambda: found.__setitem__(name, follow(api, since, is_last, cut_after=cut_after))
        )
        thread.start()
        return thread

    watchers = [run("whole", None), run("cut", 7), run("cut often", 1)]
    writers = [threading.Thread(target=write_all, args=(api, worker, count)) for worker in range(workers)]
    for thread in writers:
        thread.start()
    for thread in writers:
        thread.join()
    api.create(config_map("end"))
    for thread in watchers:
        thread.join()

    assert len(found["whole"]) == workers * (count * 2 + count // 2) + 1
    assert found["cut"] == found["whole"]
    assert found["cut often"] == found["whole"]
    versions = [version for _, _, version in found["whole"]]
    assert versions == sorted(set(versions))


def test_a_watch_from_a_forgotten_version_expires(server: Server) -> None:
    """The stream begins, says 410 Expired as its one event, and ends; a list and a watch from there go on."""
    api = server.api
    since = version_of(api.create(config_map("a")))
    api.create(config_map("b"))
    server.forget_history()

    ((type_, status),) = api.watch("ConfigMap", namespace="default", resourceVersion=str(since))

    assert type_ == "ERROR"
    assert (status["kind"], status["status"], status["reason"], status["code"]) == (
        "Status",
        "Failure",
        "Expired",
        410,
    )
    assert status["message"].startswith(f"too old resource version: {since} (")
    listed = api.request("GET", CONFIG_MAPS)
    position = str(version_of(listed))
    last = api.create(config_map("c"))
    watch = api.watch("ConfigMap", namespace="default", resourceVersion=position)
    assert seen_of(*next(watch)) == ("ADDED", "c", version_of(last))


def test_bookmarks_tell_how_far_a_quiet_watch_has_seen(server: Server) -> None:
    """Before its time is up a watch says from where to go on, though nothing happened that it selects."""
    api = server.api
    since = version_of(api.create(config_map("a")))
    options = {"allowWatchBookmarks": "true", "labelSelector": "of=nobody", "resourceVersion": str(since)}
    events: list[tuple[str, Object]] = []
    watching = threading.Thread(
        target=lambda: events.extend(api.watch("ConfigMap", namespace="default", timeout=10, **options))
    )
    watching.start()
    time.sleep(1)  # the watch is to be there first
    created = version_of(api.create(config_map("b")))
    watching.join()

    assert {type_ for type_, _ in events} == {"BOOKMARK"}
    bookmark = events[-1][1]
    assert bookmark["kind"] == "ConfigMap"
    assert set(bookmark["metadata"]) == {"resourceVersion"}
    assert version_of(bookmark) >= created


def test_no_bookmarks_unless_asked_for(server: Server) -> None:
    api = server.api
    since = version_of(api.create(config_map("a")))

    assert list(api.watch("ConfigMap", namespace="default", timeout=4, resourceVersion=str(since))) == []


def test_initial_events_end_with_a_bookmark(server: Server) -> None:
    """What is there comes first; then it is said that this was all; then what happens."""
    api = server.api
    for name in ("a", "b"):
        api.create(config_map(name))
    options = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    watch = api.watch("ConfigMap", namespace="default", timeout=30, **options)
    initial = []
    for type_, obj in watch:
        if type_ == "BOOKMARK":
            break
        initial.append((type_, obj["metadata"]["name"]))
    api.create(config_map("c"))

    assert sorted(set(initial) - {("ADDED", "kube-root-ca.crt")}) == [("ADDED", "a"), ("ADDED", "b")]
    assert obj["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert next((type_, obj["metadata"]["name"]) for type_, obj in watch if type_ != "BOOKMARK") == ("ADDED", "c")


# --- lists -----------------------------------------------------------------------------------------


def test_pages_show_the_version_of_the_first(server: Server) -> None:
    """What is created, changed and deleted between two pages does not show."""
    api = server.api
    for name in ("a", "b", "c", "d"):
        api.create(config_map(name, v="old"))
    first = api.request("GET", CONFIG_MAPS, options={"limit": "2"})
    api.create(config_map("bb"))
    api.request("PUT", f"{CONFIG_MAPS}/c", config_map("c", v="new"))
    api.request("DELETE", f"{CONFIG_MAPS}/d")
    second = api.request("GET", CONFIG_MAPS, options={"limit": "5", "continue": first["metadata"]["continue"]})

    assert first["metadata"]["remainingItemCount"] == 2
    assert [(each["metadata"]["name"], each["data"]) for each in second["items"]] == [
        ("c", {"v": "old"}),
        ("d", {"v": "old"}),
    ]
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert "continue" not in second["metadata"]


def test_a_page_of_a_forgotten_version_expires(server: Server) -> None:
    """410, with a token that goes on with the present state from the same place."""
    api = server.api
    for name in ("a", "b", "c"):
        api.create(config_map(name))
    first = api.request("GET", CONFIG_MAPS, options={"limit": "1"})
    api.request("DELETE", f"{CONFIG_MAPS}/b")
    server.forget_history()
    token = first["metadata"]["continue"]

    status, body = api.raw("GET", CONFIG_MAPS, options={"limit": "5", "continue": token})
    answer = decoded(body)

    assert (status, answer["code"], answer["reason"]) == (410, 410, "Expired")
    assert answer["message"].startswith("The provided continue parameter is too old to display a consistent list")
    rest = api.request("GET", CONFIG_MAPS, options={"limit": "5", "continue": answer["metadata"]["continue"]})
    names = [each["metadata"]["name"] for each in rest["items"]]
    assert [name for name in names if name not in ("after-the-restart", "kube-root-ca.crt")] == ["c"]


def test_an_exact_list_of_a_forgotten_version_expires(server: Server) -> None:
    api = server.api
    then = version_of(api.create(config_map("a")))
    api.create(config_map("b"))
    server.forget_history()
    status, answer = raw(api, {"resourceVersion": str(then), "resourceVersionMatch": "Exact"})

    assert (status, answer["reason"]) == (410, "Expired")
    assert answer["message"].endswith("The resourceVersion for the provided list is too old.")


def test_a_version_of_the_future_is_too_large(server: Server) -> None:
    """504 with the cause that clients look for, so that they list again."""
    api = server.api
    future = str(version_of(api.create(config_map("a"))) + 1_000_000)
    options = {"resourceVersion": future, "resourceVersionMatch": "NotOlderThan"}
    status, body = api.raw("GET", CONFIG_MAPS, options=options)
    answer = decoded(body)

    assert (status, answer["reason"]) == (504, "Timeout")
    assert [cause["reason"] for cause in answer["details"]["causes"]] == ["ResourceVersionTooLarge"]
    assert answer["message"].startswith(f"Timeout: Too large resource version: {future}, current: ")


# --- bodies ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "content_type"),
    [
        pytest.param("POST", CONFIG_MAPS, "application/json", id="create"),
        pytest.param("PUT", f"{CONFIG_MAPS}/a", "application/json", id="update"),
        pytest.param("PATCH", f"{CONFIG_MAPS}/a", "application/merge-patch+json", id="patch"),
        pytest.param("DELETE", f"{CONFIG_MAPS}/a", "application/json", id="delete"),
    ],
)
def test_an_oversize_body_is_refused(server: Server, method: str, path: str, content_type: str) -> None:
    """Beyond 3 MiB: 413, whatever the request."""
    api = server.api
    api.create(config_map("a"))
    body = config_map("a", x="x" * (3 * 1024 * 1024))
    status, answer = api.raw(method, path, body, content_type=content_type)

    assert status == 413
    assert {key: decoded(answer)[key] for key in ("reason", "code", "message")} == {
        "reason": "RequestEntityTooLarge",
        "code": 413,
        "message": "Request entity too large: limit is 3145728",
    }


def test_too_many_operations_are_refused(server: Server) -> None:
    """A JSON patch has at most 10,000 operations."""
    api = server.api
    api.create(config_map("a"))
    operations = [{"op": "add", "path": "/data", "value": {}}] * 10_001
    status, answer = api.raw("PATCH", f"{CONFIG_MAPS}/a", operations, content_type="application/json-patch+json")

    assert (status, decoded(answer)["reason"]) == (413, "RequestEntityTooLarge")


def test_a_body_just_below_the_limit_is_read(server: Server) -> None:
    """Read, and then judged by the rules of its kind: a ConfigMap holds one mebibyte."""
    api = server.api
    status, answer = api.raw("POST", CONFIG_MAPS, config_map("a", x="x" * (3 * 1024 * 1024 - 200)))

    assert (status, decoded(answer)["reason"]) == (422, "Invalid")


def decoded(body: bytes) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(body)
    return answer
