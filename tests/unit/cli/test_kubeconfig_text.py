"""Editing a kubeconfig: what is not ours stays to the byte, whatever the layout."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from bayplan.cli.kubeconfig_text import EMPTY, with_entry, without_current_context, without_entry

KUBECTL = """\
apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: QUJD
    server: https://example.org
  name: work
contexts:
- context:
    cluster: work
    user: me
  name: work
current-context: work
kind: Config
users:
- name: me
  user:
    token: secret
"""

COMMENTED = """\
# My clusters.
apiVersion: v1
kind: Config

clusters:   # the work ones
  # The one in the cellar.
  - name: work
    cluster: {server: "https://example.org"}   # slow

  # Not in use any more.
  -
    name: old
    cluster:
      server: https://old.example.org
      certificate-authority-data: |
        QUJD
# The end of the clusters.
contexts:
  - {name: work, context: {cluster: work, user: me}}
current-context: "work"  # careful
preferences: {}
"""

ENTRY: dict[str, Any] = {
    "name": "bayplan",
    "cluster": {"server": "https://127.0.0.1:1", "extensions": [{"name": "x"}]},
}
LAYOUTS = {
    "as kubectl writes it": KUBECTL,
    "with comments": COMMENTED,
    "without entries": EMPTY,
    "without a newline at the end": KUBECTL.rstrip(),
    "with Windows line ends": KUBECTL.replace("\n", "\r\n"),
}


@pytest.mark.parametrize("text", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.parametrize("section", ["clusters", "contexts"])
def test_entry_that_comes_and_goes_leaves_no_trace(text: str, section: str) -> None:
    """Byte by byte, comments and quotes included."""
    edited = with_entry(text, section, ENTRY)
    before, after = yaml.safe_load(text), yaml.safe_load(edited)
    assert after[section] == [ENTRY, *before[section]]
    assert {**after, section: None} == {**before, section: None}
    assert without_entry(edited, section, 0) == text


@pytest.mark.parametrize("text", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_every_line_of_others_is_kept(text: str) -> None:
    """In their order; a line for an empty list gives way to the entry."""
    lines = iter(with_entry(text, "clusters", ENTRY).splitlines())
    assert all(line in lines for line in text.splitlines() if line != "clusters: []")


def test_missing_section_is_added() -> None:
    edited = with_entry(COMMENTED, "users", {"name": "bayplan", "user": {"token": "t"}})
    assert edited.startswith(COMMENTED)
    assert yaml.safe_load(edited)["users"] == [{"name": "bayplan", "user": {"token": "t"}}]


@pytest.mark.parametrize("position", [0, 1])
def test_entry_of_any_layout_is_removed(position: int) -> None:
    """kubectl may have moved ours."""
    edited = without_entry(COMMENTED, "clusters", position)
    expected = yaml.safe_load(COMMENTED)
    del expected["clusters"][position]
    assert yaml.safe_load(edited) == expected
    assert "# The end of the clusters.\n" in edited


def test_json_is_written_anew_with_the_same_content() -> None:
    """It cannot have comments."""
    text = json.dumps(yaml.safe_load(KUBECTL))
    edited = with_entry(text, "clusters", ENTRY)
    assert yaml.safe_load(without_entry(edited, "clusters", 0)) == yaml.safe_load(KUBECTL)
    assert yaml.safe_load(edited)["clusters"][0] == ENTRY


def test_current_context_is_emptied_in_its_line() -> None:
    assert without_current_context(COMMENTED) == COMMENTED.replace('"work"  #', '""  #')
