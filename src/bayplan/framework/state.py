"""CycleState: the data of one attempt, and EquivalenceClass: the data that attempts at equivalent pods share.

A new CycleState is made for every attempt. Plugins write to it and read it back; preemption evaluates what-ifs on
a clone, so that the original stays unchanged.

Pods with the same `Pod.equivalence_key` are in one equivalence class: they have the same namespace, labels,
annotations, controller and spec. PreFilter and PreScore of some plugins depend on nothing else about the pod:
plugins that set `Plugin.reads`, or that return `Status.skip_alike()`. Their results for the second pod of a class
are used for all later ones; nothing is stored for the first, because many classes have only one pod. All other
plugins are called for every pod. When an object other than a node or a pod changes, the classes are dropped.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, cast

from bayplan.framework.calls import PluginMethod
from bayplan.framework.plugin import Cloneable, Reads
from bayplan.framework.status import SKIP_ALIKE, SUCCESS_ALONE, Status

if TYPE_CHECKING:
    from bayplan.model import Pod

T = TypeVar("T")

MAX_EQUIVALENCE_CLASSES: Final = 4096


class CycleState:
    """A mapping from a key to anything, for the length of one attempt.

    Keys are usually the plugin's name; read a value back with the type it was written with.
    """

    __slots__ = ("_values", "equivalence_class", "skip_filter", "skip_score")

    def __init__(self) -> None:
        self._values: dict[str, object] = {}
        #: Plugins whose PreFilter returned SKIP: their Filter, add_pod and remove_pod are not called.
        self.skip_filter: set[str] = set()
        #: Plugins whose PreScore returned SKIP: their Score is not called.
        self.skip_score: set[str] = set()
        #: The pod's equivalence class; set by the runner.
        self.equivalence_class: EquivalenceClass | None = None

    def write(self, key: str, value: object) -> None:
        self._values[key] = value

    def read(self, key: str, kind: type[T]) -> T:
        """The value under *key*; KeyError if it was not written, which is a bug in the reader."""
        value = self._values[key]
        if not isinstance(value, kind):
            raise TypeError(f"cycle state {key!r} holds {type(value).__name__}, not {kind.__name__}")
        return value

    def get(self, key: str, kind: type[T]) -> T | None:
        """The value under *key*, or None if it was not written."""
        value = self._values.get(key)
        if value is None or isinstance(value, kind):
            return value
        raise TypeError(f"cycle state {key!r} holds {type(value).__name__}, not {kind.__name__}")

    def update(self, values: Mapping[str, object]) -> None:
        self._values.update(values)

    def items(self) -> Iterable[tuple[str, object]]:
        return self._values.items()

    def keys(self) -> Iterable[str]:
        return self._values.keys()

    def alike(self, key: str, make: Callable[[], T]) -> T:
        """The result of *make*, called once for all pods of the equivalence class.

        The result must depend only on what these pods have in common, and on objects other than nodes and pods:
        when one of those changes, *make* is called again. Callers must not change the result.
        """
        if self.equivalence_class is None:
            return make()
        derived = self.equivalence_class.derived
        if key not in derived:
            derived[key] = make()
        return cast("T", derived[key])

    def delete(self, key: str) -> None:
        self._values.pop(key, None)

    def clone(self) -> CycleState:
        """A copy; values that are Cloneable are copied too."""
        copy = CycleState()
        copy.skip_filter = set(self.skip_filter)
        copy.skip_score = set(self.skip_score)
        copy.equivalence_class = self.equivalence_class
        copy._values = {
            key: value.clone() if isinstance(value, Cloneable) else value for key, value in self._values.items()
        }
        return copy


class SharedCycleState:
    """The results of consecutive plugins that are the same for all pods of an equivalence class."""

    __slots__ = ("skips", "values")

    def __init__(self) -> None:
        #: What the plugins wrote to the cycle state.
        self.values: dict[str, object] = {}
        #: The plugins that returned SKIP.
        self.skips: set[str] = set()


class CallPlan:
    """PreFilter or PreScore for one equivalence class: the plugins to call, and the results of the others."""

    __slots__ = ("steps",)

    def __init__(self) -> None:
        #: In the order of the plugins.
        self.steps: list[SharedCycleState | PluginMethod] = []

    def note(self, method: PluginMethod, status: Status, written: dict[str, object]) -> None:
        """*method* returned *status* (success or SKIP) and wrote *written* to the cycle state."""
        is_shared = method.plugin.reads is not Reads.ANYTHING or status is SKIP_ALIKE
        if not is_shared or status is SUCCESS_ALONE:
            self.steps.append(method)
            return
        if not self.steps or isinstance(self.steps[-1], PluginMethod):
            self.steps.append(SharedCycleState())
        shared = self.steps[-1]
        assert isinstance(shared, SharedCycleState)  # noqa: S101  the line above
        shared.values.update(written)
        if status.is_skip:
            shared.skips.add(method.name)


class EquivalenceClass:
    """What is known about the pods with one `Pod.equivalence_key`."""

    __slots__ = (
        "accept_all",
        "cached",
        "derived",
        "first_pod",
        "is_repeated",
        "pre_filter",
        "pre_score",
        "signatures",
    )

    def __init__(self, first_pod: Pod) -> None:
        self.first_pod = first_pod
        #: Whether there was a second pod, so that it is worth storing something for the next.
        self.is_repeated = False
        self.pre_filter: CallPlan | None = None
        self.pre_score: CallPlan | None = None
        #: Plugin name → its signature of these pods.
        self.signatures: dict[str, Hashable | None] = {}
        #: Entries of caches that live elsewhere: a plugin method, or another key → its entry for these pods.
        self.cached: dict[Hashable, Any] = {}
        #: The evaluator's record of the plugins that accept every node.
        self.accept_all: Any = None
        #: Values of `CycleState.alike`.
        self.derived: dict[str, Any] = {}

    def signature(self, method: PluginMethod, pod: Pod) -> Hashable | None:
        """The key under which results of *method* for these pods may be cached; None if they must not be.

        Raises what the plugin's `sign` raises, and TypeError for a signature that cannot be hashed.
        """
        name = method.name
        if name in self.signatures:
            return self.signatures[name]
        signature: Hashable | None = None
        if method.sign is not None:
            signature = method.sign(pod)
            hash(signature)
        self.signatures[name] = signature
        return signature


class ObjectsVersion(Protocol):
    """The cluster's objects, as far as it matters here when they change."""

    #: Changes whenever an object changes that is neither a node nor a pod.
    generation: int


class EquivalenceClasses:
    """The equivalence classes of one profile, by key; the oldest is dropped first."""

    def __init__(self, objects: ObjectsVersion | None) -> None:
        """Without *objects* every pod is in a class of its own."""
        self._objects = objects
        self._built_at = -1
        self._by_key: OrderedDict[Hashable, EquivalenceClass] = OrderedDict()

    def of(self, pod: Pod) -> EquivalenceClass:
        key = pod.equivalence_key
        if key is None or self._objects is None:
            return EquivalenceClass(pod)
        if self._built_at != self._objects.generation:
            self._built_at = self._objects.generation
            self._by_key.clear()
        found = self._by_key.get(key)
        if found is not None:
            found.is_repeated = True
            pod.share_derived(found.first_pod)
            return found
        added = self._by_key[key] = EquivalenceClass(pod)
        if len(self._by_key) > MAX_EQUIVALENCE_CLASSES:
            self._by_key.popitem(last=False)
        return added


def written_since(state: CycleState, before: Iterable[str]) -> dict[str, object]:
    """What was written to *state* since it had the keys *before*."""
    return {key: value for key, value in state.items() if key not in before}
