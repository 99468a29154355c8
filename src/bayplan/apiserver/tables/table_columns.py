"""The columns of each kind, and the function that makes its cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from bayplan.apiserver.tables.cells import Cells, Json

#: From an object and the time to its cells.
MakeCells: TypeAlias = Callable[[Json, float], Cells]


class TableColumn(msgspec.Struct, frozen=True):
    """A `metav1.TableColumnDefinition`. Columns with a priority are shown by `-o wide`."""

    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


#: Columns that hold an object's name.
_NAMES: Final = ("Name", "Attacher")


class TablePrinter(msgspec.Struct, frozen=True):
    columns: tuple[TableColumn, ...]
    cells: MakeCells


#: By group and kind.
PRINTERS: Final[dict[tuple[str, str], TablePrinter]] = {}


def prints(group: str, kind: str, columns: str) -> Callable[[MakeCells], MakeCells]:
    """Register the function as the printer of a kind.

    Columns are written `Name`, `Name:type`, and end with `*` if they are for `-o wide`; `_` stands for a space.
    """

    def register(cells: MakeCells) -> MakeCells:
        PRINTERS[(group, kind)] = TablePrinter(tuple(map(_column, columns.split())), cells)
        return cells

    return register


def _column(text: str) -> TableColumn:
    name, _, kind = text.removesuffix("*").replace("_", " ").partition(":")
    return TableColumn(
        name,
        type=kind or "string",
        format="name" if name in _NAMES else "",
        priority=int(text.endswith("*")),
    )
