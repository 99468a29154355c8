"""docs/life-of-a-pod.md and the trace of a pod: the document lists exactly the functions that run.

The prose is written by hand. The lists between `<!-- stage -->` and `<!-- end -->` are written by
`python -m tests.integration.pod_trace --write`, and a test compares them with a fresh trace.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from tests.integration.pod_trace import AFTER, BEFORE, DECISION, Step

DOCUMENT = Path(__file__).parents[2] / "docs" / "life-of-a-pod.md"
#: Comprehensions and lambdas belong to the function that they are in.
NESTED = re.compile(r"\.<locals>\..*$")


def modules(steps: Iterable[Step], *stages: str) -> set[str]:
    """The modules whose functions ran, plugins not counted."""
    return {
        step.file for step in steps if step.stage in (stages or (BEFORE, DECISION, AFTER)) and not step.is_plugin
    }


def functions(steps: Iterable[Step]) -> set[tuple[str, str, int]]:
    """The functions that ran, plugins counted."""
    return {(step.file, step.name, step.line) for step in steps}


def listed(steps: Iterable[Step], stage: str) -> str:
    """A line a module with a link to each function, in the order of the first call."""
    by_file: dict[str, dict[str, int]] = {}
    for step in steps:
        if step.stage == stage:
            name = NESTED.sub("", step.name)
            found = by_file.setdefault(step.file, {})
            if name == step.name or name not in found:
                found[name] = step.line
    lines = []
    for file, names in by_file.items():
        links = ", ".join(f"[{name}](../src/bayplan/{file}#L{line})" for name, line in names.items())
        lines.append(f"- `{file}`: {links}")
    return "\n".join(lines)


def updated(text: str, steps: Iterable[Step]) -> str:
    """The document with the lists of this trace."""
    steps = list(steps)
    for stage in (BEFORE, DECISION, AFTER):
        pattern = re.compile(rf"<!-- {stage} -->\n.*?<!-- end -->", re.DOTALL)
        text, count = pattern.subn(lambda _, s=stage: f"<!-- {s} -->\n{listed(steps, s)}\n<!-- end -->", text)  # type: ignore[misc]
        if count != 1:
            raise SystemExit(f"{DOCUMENT.name} must have one list between '<!-- {stage} -->' and '<!-- end -->'")
    return text


def summary(steps: list[Step]) -> str:
    return (
        f"{len(modules(steps))} modules without plugins, {len(modules(steps, DECISION))} of them in the decision, "
        f"{len(functions(steps))} functions with plugins"
    )


def main(steps: list[Step], *, write: bool) -> None:
    if write:
        DOCUMENT.write_text(updated(DOCUMENT.read_text(), steps))
    for stage in (BEFORE, DECISION, AFTER):
        print(f"--- {stage}\n{listed(steps, stage)}")
    print(summary(steps))
