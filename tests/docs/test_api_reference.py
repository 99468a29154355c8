"""The API reference is what the source says, and has every public name."""

from __future__ import annotations

import pytest
from tools.api_reference import PAGE, find, page, public_names

import bayplan
import bayplan.testing


def test_page_is_up_to_date() -> None:
    """Regenerated whenever a public name, a signature or a docstring changes."""
    assert PAGE.read_text() == page(), "the public API has changed: run `make api-reference`"


def test_every_public_name_is_on_it() -> None:
    """Those of `bayplan`, and those of `bayplan.testing`."""
    text = page()
    names = [name for module in (bayplan, bayplan.testing) for name in module.__all__ if not name.startswith("_")]

    assert [name for name in names if f"### {name}\n" not in text and f"- `{name}" not in text] == []


def test_definitions_are_found_through_imports() -> None:
    """`bayplan.Plugin` is defined two modules further on."""
    assert find("bayplan", "Plugin").module == "bayplan.framework.plugin"
    with pytest.raises(LookupError, match="bayplan has no Pluggin"):
        find("bayplan", "Pluggin")


def test_names_come_from_all() -> None:
    """Without the version, which is no name to program with."""
    assert public_names("bayplan") == [name for name in bayplan.__all__ if name != "__version__"]
