"""Status: what a plugin says about a pod, or about a pod on a node.

A plugin returns None for "fine", a Status for everything else. Exceptions are for bugs: the runner turns
one into an ERROR status of the pod's attempt, with the traceback in the log and in the record.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Final


class Code(IntEnum):
    """The seven answers, numbered as in Kubernetes."""

    SUCCESS = 0
    #: Something broke. The attempt ends, the pod is tried again after a backoff.
    ERROR = 1
    #: Not now, but evicting other pods could help: preemption looks at such nodes.
    UNSCHEDULABLE = 2
    #: Not now, and evicting pods would not help: preemption leaves such nodes out.
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    #: Permit only: hold the pod until someone allows or rejects it, or the timeout passes.
    WAIT = 4
    #: The plugin has nothing to do for this pod: PreFilter skips its Filter, PreScore its Score; Bind passes on.
    SKIP = 5
    #: Like UNSCHEDULABLE, but the pod waits for an outside event and gets no backoff penalty.
    PENDING = 6

    @property
    def label(self) -> str:
        """The word Kubernetes uses in logs and metric labels."""
        return _LABELS[self]

    @property
    def is_rejection(self) -> bool:
        """Whether the pod was turned down by a rule, in contrast to a failure."""
        return self in _REJECTIONS


_LABELS: Final = {
    Code.SUCCESS: "Success",
    Code.ERROR: "Error",
    Code.UNSCHEDULABLE: "Unschedulable",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE: "UnschedulableAndUnresolvable",
    Code.WAIT: "Wait",
    Code.SKIP: "Skip",
    Code.PENDING: "Pending",
}
_REJECTIONS: Final = frozenset({Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING})


class Status:
    """A code with its reasons; immutable. Build one with the constructors named after the codes."""

    __slots__ = ("code", "error", "plugin", "reasons", "timeout_seconds")

    def __init__(
        self,
        code: Code,
        reasons: Iterable[str] = (),
        *,
        plugin: str = "",
        error: BaseException | None = None,
        timeout_seconds: float = 0.0,
    ) -> None:
        self.code: Final = code
        self.reasons: Final = tuple(reasons)
        #: The plugin that spoke; filled in by the runner.
        self.plugin: Final = plugin
        #: What was raised, when the code is ERROR.
        self.error: Final = error
        #: How long Permit holds the pod, when the code is WAIT.
        self.timeout_seconds: Final = timeout_seconds

    @classmethod
    def success(cls) -> Status:
        return SUCCESS

    @classmethod
    def failed(cls, error: BaseException | str) -> Status:
        """ERROR: something broke that is not a matter of scheduling rules."""
        if isinstance(error, str):
            return cls(Code.ERROR, (error,))
        return cls(Code.ERROR, (str(error) or type(error).__name__,), error=error)

    @classmethod
    def unschedulable(cls, *reasons: str) -> Status:
        return cls(Code.UNSCHEDULABLE, reasons)

    @classmethod
    def unresolvable(cls, *reasons: str) -> Status:
        """UNSCHEDULABLE_AND_UNRESOLVABLE: evicting pods would not help."""
        return cls(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons)

    @classmethod
    def skip(cls) -> Status:
        return SKIP

    @classmethod
    def skip_alike(cls) -> Status:
        """SKIP for this pod and all alike: it follows from the pod's spec, labels and namespace, and from
        objects other than nodes and the pods on them, so pods alike need not be asked about."""
        return SKIP_ALIKE

    @classmethod
    def pending(cls, *reasons: str) -> Status:
        return cls(Code.PENDING, reasons)

    @classmethod
    def wait(cls, *reasons: str, timeout_seconds: float) -> Status:
        """Permit only: hold the pod for at most *timeout_seconds*."""
        return cls(Code.WAIT, reasons, timeout_seconds=timeout_seconds)

    @property
    def message(self) -> str:
        return ", ".join(self.reasons)

    @property
    def is_success(self) -> bool:
        return self.code is Code.SUCCESS

    @property
    def is_skip(self) -> bool:
        return self.code is Code.SKIP

    @property
    def is_rejection(self) -> bool:
        return self.code.is_rejection

    def by(self, plugin: str) -> Status:
        """The same status with the plugin's name on it; one that has a name already keeps it."""
        if self.plugin or self.code is Code.SUCCESS:
            return self
        return Status(
            self.code, self.reasons, plugin=plugin, error=self.error, timeout_seconds=self.timeout_seconds
        )

    def __eq__(self, other: object) -> bool:
        """Equal in code and reasons: who said it does not matter for what it means."""
        if not isinstance(other, Status):
            return NotImplemented
        return self.code is other.code and self.reasons == other.reasons

    def __hash__(self) -> int:
        return hash((self.code, self.reasons))

    def __repr__(self) -> str:
        said_by = f" by {self.plugin}" if self.plugin else ""
        return f"<Status {self.code.label}{said_by}: {self.message}>"


SUCCESS: Final = Status(Code.SUCCESS)
SKIP: Final = Status(Code.SKIP)
SKIP_ALIKE: Final = Status(Code.SKIP)
