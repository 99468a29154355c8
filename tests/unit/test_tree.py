"""The unit tests mirror the source: `src/bayplan/cache/table.py` is tested by `tests/unit/cache/test_table.py`.

A module may have several files, each with a topic: `test_table.py`, `test_table_columns.py`. A package may be
tested as a whole: `tests/unit/cache/test_cache_snapshot.py`. Files without `test_` are helpers, of any name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parents[1]
#: Folder of the tests → what it mirrors, where that is not a package of src/bayplan.
ELSEWHERE: Mapping[str, Path] = {"bench": ROOT / "bench", "tools": ROOT / "tools"}
#: File → why it belongs to no module.
EXCEPTIONS: Mapping[str, str] = {
    "test_names.py": "about the names of all modules and classes",
    "test_tree.py": "about the tree of the tests",
}


def _mirrored(folder: Path) -> Path:
    """The folder of the source that a folder of the tests, relative to tests/unit, is for."""
    if folder.parts and folder.parts[0] in ELSEWHERE:
        return ELSEWHERE[folder.parts[0]].joinpath(*folder.parts[1:])
    return ROOT / "src" / "bayplan" / folder


def _names(folder: Path) -> set[str]:
    """What a test may be about: the modules and packages of a source folder, and the folder as a whole.

    A private module is named without its underscore.
    """
    if not folder.is_dir():
        return set()
    modules = {path.stem for path in folder.glob("*.py") if path.name != "__init__.py"}
    packages = {path.parent.name for path in folder.glob("*/__init__.py")}
    return {name.lstrip("_") for name in modules | packages | {folder.name}}


def _unmatched() -> Iterator[str]:
    for path in sorted(TESTS.rglob("test_*.py")):
        relative = path.relative_to(TESTS)
        if relative.as_posix() in EXCEPTIONS:
            continue
        source = _mirrored(relative.parent)
        topic = relative.stem.removeprefix("test_")
        if not any(topic == name or topic.startswith(f"{name}_") for name in _names(source)):
            yield f"  tests/unit/{relative} is named after no module of {source.relative_to(ROOT)}/"


def test_every_file_is_named_after_a_module() -> None:
    """Of the mirrored folder, so that the tests of a module are found by its name."""
    unmatched = list(_unmatched())

    assert not unmatched, (
        "\n".join(["test files without a module:", *unmatched])
        + "\nRename each to test_<module>.py or test_<module>_<topic>.py, in the folder that mirrors the module's."
    )


def test_exceptions_are_there() -> None:
    """What is gone needs no exception."""
    assert [name for name in EXCEPTIONS if not (TESTS / name).is_file()] == []
