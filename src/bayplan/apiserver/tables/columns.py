"""Which columns a kind has, and which function makes its cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from bayplan.apiserver.tables.cells import Cells, Json

#: From an object and the time to its cells.
MakeCells: TypeAlias = Callable[[Json, float], Cells]


class Column(msgspec.Struct, frozen=True):
    """As `metav1.TableColumnDefinition`. Columns with a priority are shown by `-o wide`."""

    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


#: Columns with the name of an object.
_NAMES: Final = ("Name", "Attacher")


class Printer(msgspec.Struct, frozen=True):
    columns: tuple[Column, ...]
    cells: MakeCells


#: By group and kind.
PRINTERS: Final[dict[tuple[str, str], Printer]] = {}


def prints(group: str, kind: str, columns: str) -> Callable[[MakeCells], MakeCells]:
    """Register the function as the printer of a kind.

    Columns are written `Name`, `Name:type`, and end with `*` if they are for `-o wide`; `_` stands for a space.
    """

    def register(cells: MakeCells) -> MakeCells:
        PRINTERS[(group, kind)] = Printer(tuple(map(_column, columns.split())), cells)
        return cells

    return register


def _column(text: str) -> Column:
    name, _, kind = text.removesuffix("*").replace("_", " ").partition(":")
    return Column(
        name,
        type=kind or "string",
        format="name" if name in _NAMES else "",
        priority=int(text.endswith("*")),
    )
