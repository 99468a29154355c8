"""For any history, selection and resume point, a watch sees exactly what happened."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from bayplan.apiserver.registry.api_resources import ApiResource
from bayplan.apiserver.rest.object_views import WholeView
from bayplan.apiserver.storage.selection import select
from bayplan.apiserver.storage.versioned_store import Key, VersionedStore
from bayplan.apiserver.storage.watches import Watch
from bayplan.testing import VirtualClock

CONFIG_MAPS = ApiResource("", "v1", "ConfigMap", "configmaps", "configmap", namespaced=True)
NAMES = st.sampled_from(["a", "b", "c"])
NAMESPACES = st.sampled_from(["s", "t"])
COLOURS = st.sampled_from(["red", "green"])
SELECTORS = st.tuples(
    st.sampled_from(["", "s", "t"]),
    st.sampled_from(["", "colour=red", "colour!=red", "colour", "!colour"]),
    st.sampled_from(["", "metadata.name=a", "metadata.namespace!=s"]),
)
Event = tuple[str, str, int, Any]


@dataclass
class Follower:
    """A watch, its events, and the events that the model expects."""

    selectors: tuple[str, str, str]
    watch: Watch
    began: int
    seen: list[Event] = field(default_factory=list)


def events_of(data: bytes) -> list[Event]:
    found = []
    for line in data.splitlines():
        event = msgspec.json.decode(line)
        metadata = event["object"]["metadata"]
        path = f"{metadata['namespace']}/{metadata['name']}"
        found.append((event["type"], path, int(metadata["resourceVersion"]), event["object"].get("data")))
    return found


def is_selected(selectors: tuple[str, str, str], path: str, colour: str | None) -> bool:
    """The selectors of this test, in plain Python."""
    namespace, labels, fields = selectors
    object_namespace, name = path.split("/")
    by_label = {
        "": True,
        "colour=red": colour == "red",
        "colour!=red": colour != "red",
        "colour": colour is not None,
        "!colour": colour is None,
    }[labels]
    by_field = {"": True, "metadata.name=a": name == "a", "metadata.namespace!=s": object_namespace != "s"}[fields]
    return by_label and by_field and namespace in ("", object_namespace)


class WatchMachine(RuleBasedStateMachine):
    followers = Bundle("followers")

    @initialize()
    def begin(self) -> None:
        self.clock = VirtualClock()
        self.store = VersionedStore(self.clock)
        #: What happened: version, path, (colour, data) before and after; None where there is nothing.
        self.model: list[tuple[int, str, Any, Any]] = []
        self.state: dict[str, Any] = {}
        self.all: list[Follower] = []

    # --- what happens to objects ------------------------------------------------------------------

    @rule(namespace=NAMESPACES, name=NAMES, colour=st.none() | COLOURS, value=st.integers(0, 2))
    def write(self, namespace: str, name: str, colour: str | None, value: int) -> None:
        path, after = f"{namespace}/{name}", (colour, {"x": str(value)})
        metadata: dict[str, Any] = {"name": name, "namespace": namespace, "uid": "u"}
        if colour is not None:
            metadata["labels"] = {"colour": colour}
        self.store.put(Key("configmaps", namespace, name), {"metadata": metadata, "data": after[1]}, {})
        if self.state.get(path) != after:
            self.model.append((self.store.version, path, self.state.get(path), after))
            self.state[path] = after

    @rule(namespace=NAMESPACES, name=NAMES)
    def delete(self, namespace: str, name: str) -> None:
        path = f"{namespace}/{name}"
        if path in self.state:
            self.store.delete(Key("configmaps", namespace, name))
            self.model.append((self.store.version, path, self.state.pop(path), None))

    # --- what watchers do -------------------------------------------------------------------------

    @rule(target=followers, selectors=SELECTORS, age=st.integers(0, 10))
    def watch(self, selectors: tuple[str, str, str], age: int) -> Follower:
        """From any past version on."""
        began = max(1, self.store.version - age)
        follower = Follower(selectors, self._watch(selectors, began), began)
        self.all.append(follower)
        return follower

    @rule(follower=followers)
    def read(self, follower: Follower) -> None:
        follower.seen += events_of(follower.watch.read())

    @rule(follower=followers)
    def cut_and_resume(self, follower: Follower) -> None:
        """The connection breaks; the client resumes from the last version it has seen."""
        follower.watch.close()
        position = follower.seen[-1][2] if follower.seen else follower.began
        follower.watch = self._watch(follower.selectors, position)

    def _watch(self, selectors: tuple[str, str, str], since: int) -> Watch:
        view = WholeView(CONFIG_MAPS, {})
        return Watch(
            self.store, "configmaps", select(*selectors), view, self.clock, since=since, timeout_seconds=1e9
        )

    # --- what must hold ---------------------------------------------------------------------------

    @invariant()
    def every_watcher_sees_exactly_the_history(self) -> None:
        for follower in self.all:
            follower.seen += events_of(follower.watch.read())
            assert follower.seen == self._expected(follower)

    @invariant()
    def an_earlier_list_and_its_changes_give_the_present(self) -> None:
        for version in {1, self.store.version // 2 + 1, self.store.version}:
            then = {entry.key.path: entry for entry in self.store.list_at("configmaps", "", version)}
            for change in self.store.changes_since("configmaps", version):
                if change.after is None:
                    then.pop(change.key.path)
                else:
                    then[change.key.path] = change.after
            assert [then[path] for path in sorted(then)] == self.store.list("configmaps")

    def _expected(self, follower: Follower) -> list[Event]:
        """The history as this watcher should see it: objects enter its selection and leave it."""
        expected: list[Event] = []
        for version, path, before, after in self.model:
            if version <= follower.began:
                continue
            was = before is not None and is_selected(follower.selectors, path, before[0])
            is_now = after is not None and is_selected(follower.selectors, path, after[0])
            if is_now:
                expected.append(("MODIFIED" if was else "ADDED", path, version, after[1]))
            elif was:
                expected.append(("DELETED", path, version, before[1]))
        return expected


WatchMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30)
TestWatchMachine = WatchMachine.TestCase
