"""What a scheduler leaves behind, as far as it is the same whoever schedules: no times, no uids, no versions."""

from __future__ import annotations

import contextlib
import difflib
import re
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

import pytest
import yaml
from tests.e2e.api import Api, ApiError, Object

EVENTS = "events.k8s.io/v1/Event"


def bound_to(api: Api, name: str) -> str | None:
    node_name: str | None = api.get("Pod", name)["spec"].get("nodeName")
    return node_name


def condition(pod: Object, kind: str = "PodScheduled") -> Object | None:
    """The condition of this type, if the pod has one."""
    for each in pod["status"].get("conditions", ()):
        if each["type"] == kind:
            found: Object = each
            return found
    return None


def reason(api: Api, name: str) -> str | None:
    """Why the pod is not scheduled, in one word; None if that was not said."""
    found = condition(api.get("Pod", name))
    return None if found is None else found.get("reason")


def is_settled(api: Api, name: str) -> bool:
    """Whether a scheduler has said yes or no to the pod."""
    return condition(api.get("Pod", name)) is not None


def events(api: Api, name: str) -> list[Object]:
    """The events about a pod in the order in which they were first seen."""
    found = [each for each in api.list(EVENTS) if each["regarding"]["name"] == name]
    return sorted(found, key=lambda each: str(each.get("eventTime") or each["metadata"]["creationTimestamp"]))


class Kubelets:
    """Ends pods that are being deleted, as kubelets would, and remembers the last that was said of them."""

    def __init__(self, api: Api, *, interval: float = 0.1) -> None:
        self._api = api
        self._interval = interval
        self._stop = threading.Event()
        #: Held during a look at all pods, and while they are away.
        self._busy = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="kubelets")
        #: Pods that were ended, by name.
        self.ended: dict[str, Object] = {}

    def __enter__(self) -> Kubelets:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    @contextlib.contextmanager
    def away(self) -> Iterator[None]:
        """Meanwhile pods that are being deleted linger."""
        with self._busy:
            yield

    def end(self, name: str) -> None:
        """One of the pods that linger goes first, while the kubelets are away for the others."""
        self._end(self._api.get("Pod", name))

    def _run(self) -> None:
        while not self._stop.wait(self._interval):
            with self._busy, ThreadPoolExecutor() as pool:
                leaving = [each for each in self._api.list("Pod") if "deletionTimestamp" in each["metadata"]]
                # Together: victims that end one by one on a busy machine let the preemptor be tried in between.
                list(pool.map(self._end, leaving))

    def _end(self, pod: Object) -> None:
        metadata = pod["metadata"]
        try:
            self._api.delete("Pod", metadata["name"], namespace=metadata["namespace"])
        except ApiError as error:
            if error.status != 404:
                raise
        self.ended[metadata["name"]] = pod


class Residue:
    """The statuses and events of all pods, in a form that can be compared between two runs."""

    def __init__(self, api: Api, *, ended: Iterable[Object] = (), any_node: Iterable[str] = ()) -> None:
        """*any_node*: pods for which several nodes were equally good, so that the choice is not compared."""
        pods = {pod["metadata"]["name"]: pod for pod in [*ended, *api.list("Pod")]}
        self._names = {pod["metadata"]["uid"]: name for name, pod in pods.items()}
        self._any_node = frozenset(any_node)
        self.pods = {name: self._pod(pod) for name, pod in sorted(pods.items())}
        self.events = {name: self._events(api, name) for name in self.pods}

    def _pod(self, pod: Object) -> Object:
        status = pod["status"]
        node_name = pod["spec"].get("nodeName", "")
        is_any = pod["metadata"]["name"] in self._any_node
        return {
            "node": bool(node_name) if is_any else node_name,
            "nominated": status.get("nominatedNodeName", ""),
            "leaving": "deletionTimestamp" in pod["metadata"],
            "conditions": [_without(each, "lastTransitionTime") for each in status.get("conditions", ())],
        }

    def _events(self, api: Api, name: str) -> list[Object]:
        """Each once: how often something was tried again is a matter of time."""
        shown: list[Object] = []
        for event in events(api, name):
            plain = self._plain(event)
            if plain not in shown:
                shown.append(plain)
        return shown

    def _plain(self, event: Object) -> Object:
        regarding = _without(event["regarding"], "uid", "resourceVersion")
        note = re.sub(r"\b[0-9a-f-]{36}\b", lambda match: self._names.get(match[0], match[0]), event["note"])
        if regarding["name"] in self._any_node:
            note = re.sub(r"(assigned \S+ to) \S+$", r"\1 a node", note)
        return {
            **{field: event.get(field) for field in ("type", "reason", "action", "reportingController")},
            "regarding": regarding,
            "related": _without(event.get("related") or {}, "uid", "resourceVersion"),
            "note": note,
        }


def check_same(stock: Residue, ours: Residue) -> None:
    """The test fails with what is not the same, if anything is."""
    before, after = (
        yaml.safe_dump({"pods": each.pods, "events": each.events}, width=1000).splitlines()
        for each in (stock, ours)
    )
    different = list(difflib.unified_diff(before, after, "stock", "ours", n=8, lineterm=""))
    if different:
        pytest.fail("\n".join(different), pytrace=False)


def _without(fields: Object, *names: str) -> Object:
    return {name: value for name, value in fields.items() if name not in names}
