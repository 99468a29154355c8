"""Status: a plugin's result for a pod, or for a pod on a node.

A plugin returns None for success, a Status for everything else. Exceptions are for bugs: the runner turns
one into an ERROR status of the pod's attempt, with the traceback in the log and in the record.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Final


class Code(IntEnum):
    """The seven status codes, numbered as in Kubernetes."""

    SUCCESS = 0
    #: Something failed unexpectedly. The attempt ends, the pod is retried after a backoff.
    ERROR = 1
    #: Not now, but evicting other pods could help: preemption looks at such nodes.
    UNSCHEDULABLE = 2
    #: Not now, and evicting pods would not help: preemption leaves such nodes out.
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    #: Permit only: the pod waits until it is allowed or rejected, or until the timeout.
    WAIT = 4
    #: The plugin has nothing to do for this pod: PreFilter skips its Filter, PreScore its Score; Bind passes on.
    SKIP = 5
    #: Like UNSCHEDULABLE, but the pod waits for an outside event and gets no backoff penalty.
    PENDING = 6

    #: The word that Kubernetes uses in logs and metric labels.
    label: str
    #: Whether a scheduling rule rejected the pod, as opposed to a failure.
    is_rejection: bool


_LABELS: Final = {
    Code.SUCCESS: "Success",
    Code.ERROR: "Error",
    Code.UNSCHEDULABLE: "Unschedulable",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE: "UnschedulableAndUnresolvable",
    Code.WAIT: "Wait",
    Code.SKIP: "Skip",
    Code.PENDING: "Pending",
}
for _code, _label in _LABELS.items():
    _code.label = _label
    _code.is_rejection = _code in (Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING)


class Status:
    """A code with its reasons; immutable. Build one with the constructors named after the codes."""

    __slots__ = (
        "code",
        "error",
        "is_rejection",
        "is_skip",
        "is_success",
        "plugin",
        "reasons",
        "timeout_seconds",
    )

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
        #: The plugin that returned it; filled in by the runner.
        self.plugin: Final = plugin
        #: What was raised, when the code is ERROR.
        self.error: Final = error
        #: How long the pod waits at Permit, when the code is WAIT.
        self.timeout_seconds: Final = timeout_seconds
        self.is_success: Final = code is Code.SUCCESS
        self.is_skip: Final = code is Code.SKIP
        #: Whether a scheduling rule rejected the pod, as opposed to a failure.
        self.is_rejection: Final = code.is_rejection

    @classmethod
    def success(cls) -> Status:
        return SUCCESS

    @classmethod
    def failed(cls, error: BaseException | str) -> Status:
        """ERROR: something failed that has nothing to do with scheduling rules."""
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
    def success_alone(cls) -> Status:
        """Success of a PreFilter whose result is for this pod alone: it is called for alike pods as well, whatever
        `reads` says."""
        return SUCCESS_ALONE

    @classmethod
    def skip_alike(cls) -> Status:
        """SKIP for all pods of the equivalence class (the same `Pod.equivalence_key`), so that the plugin is not
        called for each of them: it depends on nothing but the pod's namespace, labels, annotations, controller and
        spec, and on objects other than nodes and pods."""
        return SKIP_ALIKE

    @classmethod
    def pending(cls, *reasons: str) -> Status:
        return cls(Code.PENDING, reasons)

    @classmethod
    def wait(cls, *reasons: str, timeout_seconds: float) -> Status:
        """Permit only: let the pod wait for at most *timeout_seconds*."""
        if not timeout_seconds >= 0:  # also if it is not a number at all
            raise ValueError(f"timeout_seconds must be 0 or more, got {timeout_seconds!r}")
        return cls(Code.WAIT, reasons, timeout_seconds=timeout_seconds)

    @property
    def message(self) -> str:
        return ", ".join(self.reasons)

    def by(self, plugin: str) -> Status:
        """The same status with the plugin's name on it; one that has a name already keeps it."""
        if self.plugin or self.code is Code.SUCCESS:
            return self
        return Status(
            self.code, self.reasons, plugin=plugin, error=self.error, timeout_seconds=self.timeout_seconds
        )

    def __eq__(self, other: object) -> bool:
        """Equal in code and reasons; the plugin does not count."""
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
#: Success of a PreFilter whose result is for this pod alone: alike pods are asked as well, whatever `reads` says.
SUCCESS_ALONE: Final = Status(Code.SUCCESS)
SKIP_ALIKE: Final = Status(Code.SKIP)
