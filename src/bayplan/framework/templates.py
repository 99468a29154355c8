"""Templates: what PreFilter and PreScore came to for pods alike, where it follows from the pod alone.

Pods of one template differ in nothing but their names. For them a plugin that looks at the pod only gives the
same answer every time, so it is asked once: plugins that declare what they read (`Plugin.reads`), and those
that answer SKIP with `Status.skip_alike()`. All others are asked for every pod. When an object other than a node
or a pod changes, everything is forgotten.

Nothing is learned from the first pod of a template: many are the only ones of their kind.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any, Final

from bayplan.framework.calls import Bound
from bayplan.framework.plugin import Reads
from bayplan.framework.state import CycleState
from bayplan.framework.status import SKIP_ALIKE, Status

if TYPE_CHECKING:
    from bayplan.model import Pod

MAX_TEMPLATES: Final = 4096


class Alike:
    """The answers of plugins that follow each other and need not be asked again."""

    __slots__ = ("skips", "values")

    def __init__(self) -> None:
        #: What they wrote to the cycle state.
        self.values: dict[str, object] = {}
        #: Those that said SKIP.
        self.skips: set[str] = set()


class Steps:
    """The plugins of one extension point for one template: which to ask, and what is known of the others."""

    __slots__ = ("steps",)

    def __init__(self) -> None:
        self.steps: list[Alike | Bound] = []

    def note(self, bound: Bound, status: Status, written: dict[str, object]) -> None:
        """*bound* answered *status* (success or SKIP) and wrote *written*."""
        if bound.plugin.reads is Reads.ANYTHING and status is not SKIP_ALIKE:
            self.steps.append(bound)
            return
        if not self.steps or isinstance(self.steps[-1], Bound):
            self.steps.append(Alike())
        alike = self.steps[-1]
        assert isinstance(alike, Alike)  # noqa: S101  the line above
        alike.values.update(written)
        if status.is_skip:
            alike.skips.add(bound.name)


class Template:
    """What is known of pods alike."""

    __slots__ = ("exemplar", "is_common", "kept", "known", "pre_filter", "pre_score", "signs", "standing")

    def __init__(self, exemplar: Pod) -> None:
        #: The first such pod; what was worked out about it holds for the others.
        self.exemplar = exemplar
        #: Whether there has been a second such pod, so that it pays to remember something for the next.
        self.is_common = False
        self.pre_filter: Steps | None = None
        self.pre_score: Steps | None = None
        #: Plugin name → its sign for these pods.
        self.signs: dict[str, Hashable | None] = {}
        #: For those who keep answers: method, or whatever else is asked → where the answer about such pods is.
        self.kept: dict[Hashable, Any] = {}
        #: For the same: what stands for such pods as long as no node object changes.
        self.standing: Any = None
        #: What plugins worked out about such pods (`CycleState.alike`).
        self.known: dict[str, Any] = {}

    def sign(self, bound: Bound, pod: Pod) -> Hashable | None:
        """What answers of *bound* about such pods are remembered by; None if they must not be.

        Raises whatever the plugin's `sign` raises, and TypeError for a sign that cannot be hashed.
        """
        name = bound.name
        if name not in self.signs:
            self.signs[name] = _signed(bound, pod)
        return self.signs[name]


def _signed(bound: Bound, pod: Pod) -> Hashable | None:
    ask = getattr(bound.plugin, "sign", None)
    if ask is None or bound.is_per_node or bound.plugin.reads is Reads.ANYTHING:
        return None
    sign: Hashable | None = ask(pod)
    hash(sign)
    return sign


class Templates:
    """Templates by key, as long as they are right."""

    def __init__(self, epoch: Callable[[], int]) -> None:
        #: Changes whenever an object other than a node or a pod on one does.
        self._epoch = epoch
        self._made_at = epoch()
        self._by_key: OrderedDict[Hashable, Template] = OrderedDict()

    def of(self, pod: Pod) -> Template:
        now = self._epoch()
        if now != self._made_at:
            self._made_at = now
            self._by_key.clear()
        key = pod.template_key
        if key is None:
            return Template(pod)
        template = self._by_key.get(key)
        if template is not None:
            template.is_common = True
            pod.share_derived(template.exemplar)
        else:
            template = self._by_key[key] = Template(pod)
            if len(self._by_key) > MAX_TEMPLATES:
                self._by_key.popitem(last=False)
        return template


def written_since(state: CycleState, before: Iterable[str]) -> dict[str, object]:
    """What was written to *state* since it had the keys *before*."""
    return {key: value for key, value in state.items() if key not in before}
