"""Field paths: the location of a value in a configuration, in the notation of kube-scheduler.

`Path() / "profiles" / 0 / "plugins"` prints as `profiles[0].plugins`.
"""

from __future__ import annotations

import re

_STEP = re.compile(r"([^.\[\]]+)|\[([^\]]*)\]")


class Path(tuple[str | int, ...]):
    """The steps from the root to a value: field names and list positions."""

    __slots__ = ()

    def __truediv__(self, step: str | int) -> Path:
        return Path((*self, step))

    def __str__(self) -> str:
        text = ""
        for step in self:
            if isinstance(step, int):
                text += f"[{step}]"
            else:
                text += f".{step}" if text else step
        return text

    @classmethod
    def parse(cls, text: str) -> Path:
        """The inverse of `str()`. A bracket that holds no number (`values[0][zone]`) is kept as a name."""
        steps: list[str | int] = []
        for name, index in _STEP.findall(text):
            steps.append(name or (int(index) if index.isdigit() else f"[{index}]"))
        return cls(steps)

    @property
    def parent(self) -> Path:
        return Path(self[:-1])

    def starts_with(self, other: Path) -> bool:
        return self[: len(other)] == other


ROOT = Path()
