"""Writes docs/api-reference.md: every public name of `bayplan` and `bayplan.testing`, from the source.

    python -m tools.api_reference --write

The source is parsed and not imported, so the result is the same with every Python, compiled or not.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "api-reference.md"
_SOURCE: Final = ROOT / "src"
#: Above it are words that people write; below, what this program writes.
_BEGIN: Final = "## bayplan\n\n"
_KINDS: Final = """\
### Kubernetes objects

As plugins see them: read-only, with fields in snake case. `raw` is the object as the API server sent it, also with
fields that are not declared.

"""


class Definition(NamedTuple):
    """Where a name is defined."""

    module: str
    node: ast.ClassDef | ast.FunctionDef | ast.Assign | ast.AnnAssign


# --- finding definitions ------------------------------------------------------------------------------------


@cache
def _parsed(module: str) -> tuple[ast.Module, list[str]]:
    path = _SOURCE.joinpath(*module.split("."))
    text = (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text()
    return ast.parse(text), text.splitlines()


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Also those under `if TYPE_CHECKING`, in both branches."""
    for statement in body:
        if isinstance(statement, ast.If):
            yield from _statements(statement.body)
            yield from _statements(statement.orelse)
        else:
            yield statement


def _target(node: ast.stmt) -> str:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return node.name
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    return target.id if isinstance(target, ast.Name) else ""


def find(module: str, name: str) -> Definition:
    """The definition of *name*, which *module* defines or imports."""
    for node in _statements(_parsed(module)[0].body):
        if isinstance(node, ast.ImportFrom) and any((each.asname or each.name) == name for each in node.names):
            return find(node.module or "", name)
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.Assign | ast.AnnAssign) and _target(node) == name:
            return Definition(module, node)
    raise LookupError(f"{module} has no {name}")


def public_names(module: str) -> list[str]:
    """`__all__`, without names such as `__version__`."""
    node = find(module, "__all__").node
    assert isinstance(node, ast.Assign)  # noqa: S101
    names: list[str] = ast.literal_eval(node.value)
    return [name for name in names if not name.startswith("_")]


# --- writing ------------------------------------------------------------------------------------------------


def page() -> str:
    """The whole page, with the words of the present one."""
    return PAGE.read_text().partition(_BEGIN)[0] + _BEGIN + "".join(_entries()).rstrip() + "\n"


def _entries() -> Iterator[str]:
    names = {name: find("bayplan", name) for name in public_names("bayplan")}
    kinds = {name: found for name, found in names.items() if found.module.startswith("bayplan.model.")}
    yield from (_entry(name, found) for name, found in names.items() if name not in kinds)
    yield _KINDS
    yield from (_line(name, found) for name, found in kinds.items())
    yield "\n## bayplan.testing\n\n"
    yield from (_entry(name, find("bayplan.testing", name)) for name in public_names("bayplan.testing"))


def _line(name: str, found: Definition) -> str:
    """A name with the first paragraph about it."""
    about = _doc(found.node).partition("\n\n")[0]
    return f"- `{_signature(found.node) if isinstance(found.node, ast.FunctionDef) else name}`{_after(about)}\n"


def _entry(name: str, found: Definition) -> str:
    node = found.node
    if isinstance(node, ast.ClassDef):
        return f"### {name}\n\n{_fenced(_header(node))}{_told(_doc(node))}{_members(node, found.module)}"
    if isinstance(node, ast.FunctionDef):
        return f"### {name}\n\n{_fenced(_signature(node))}{_told(_doc(node))}"
    about = _comment(found.module, node.lineno)
    return f"### {name}\n\n{_fenced(ast.unparse(node))}{_told(about)}"


def _fenced(code: str) -> str:
    return f"```text\n{code}\n```\n\n"


def _told(text: str) -> str:
    """A docstring as Markdown: an indented block after `::` is code."""
    if not text:
        return ""
    code = re.sub(
        r"::\n\n((?:    .*\n|\n)+?)(?=\S|\Z)",
        lambda found: ":\n\n```text\n" + re.sub(r"^    ", "", found[1], flags=re.M).rstrip() + "\n```\n\n",
        text + "\n",
    )
    return code.rstrip() + "\n\n"


def _after(text: str) -> str:
    return f": {' '.join(text.split())}" if text else ""


def _doc(node: ast.AST) -> str:
    if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return ""
    return ast.get_docstring(node) or ""


def _comment(module: str, line: int) -> str:
    """The `#:` lines above a statement."""
    lines, found = _parsed(module)[1], []
    for text in reversed(lines[: line - 1]):
        if not text.strip().startswith("#:"):
            break
        found.append(text.strip().removeprefix("#:").strip())
    return " ".join(reversed(found))


def _header(node: ast.ClassDef) -> str:
    """The class as it is called: with the parameters of its constructor, if it has one."""
    bases = [ast.unparse(base) for base in node.bases]
    init = next(
        (each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None
    )
    shown = f"class {node.name}({', '.join(bases)})" if bases else f"class {node.name}"
    return shown if init is None else f"{shown}\n{node.name}{_parameters(init)}"


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    given = ast.unparse(node.args)
    return f"({re.sub(r'^(self|cls)(, )?', '', given)})"


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    colour = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    result = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    return f"{colour}{node.name}{_parameters(node)}{result}"


def _members(node: ast.ClassDef, module: str) -> str:
    lines = [line for each in node.body for line in _member(each, module)]
    return "".join(lines) + "\n" if lines else ""


def _member(node: ast.stmt, module: str) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        if not node.name.startswith("_") and not _is_overload(node):
            yield f"- `{_shown(node)}`{_after(_doc(node))}\n"
    elif isinstance(node, ast.Assign | ast.AnnAssign) and not _target(node).startswith("_"):
        yield f"- `{ast.unparse(node)}`{_after(_comment(module, node.lineno))}\n"


def _is_overload(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(isinstance(each, ast.Name) and each.id == "overload" for each in node.decorator_list)


def _shown(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """A property as an attribute, anything else as it is called."""
    names = [each.id for each in node.decorator_list if isinstance(each, ast.Name)]
    if any("property" in name for name in names) and node.returns is not None:
        return f"{node.name}: {ast.unparse(node.returns)}"
    return _signature(node)


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page())
    else:
        print(page(), end="")
