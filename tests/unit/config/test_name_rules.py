"""Names of labels and resources."""

from __future__ import annotations

import pytest

from bayplan.config.name_rules import extended_resource_faults, label_key_faults, label_value_faults


@pytest.mark.parametrize(
    ("key", "valid"),
    [
        ("zone", True),
        ("topology.kubernetes.io/zone", True),
        ("a" * 63, True),
        ("a" * 64, False),
        ("", False),
        ("bad name", False),
        ("-x", False),
        ("a/b/c", False),
        ("/x", False),
        ("x/", False),
        ("Example.com/x", False),
        ("a" * 254 + "/x", False),
    ],
)
def test_label_keys(key: str, valid: bool) -> None:
    """A key is a name with an optional domain before a slash."""
    assert (not label_key_faults(key)) is valid


@pytest.mark.parametrize(
    ("value", "valid"), [("", True), ("a.b_c-d", True), ("a b", False), ("-", False), ("a" * 64, False)]
)
def test_label_values(value: str, valid: bool) -> None:
    """A value may be empty; else it follows the rule of names."""
    assert (not label_value_faults(value)) is valid


@pytest.mark.parametrize(
    ("name", "valid"),
    [
        ("example.com/gpu", True),
        ("cpu", False),
        ("kubernetes.io/gpu", False),
        ("requests.example.com/gpu", False),
        ("bad name", False),
        ("a" * 250 + "/x", False),
    ],
)
def test_extended_resources(name: str, valid: bool) -> None:
    """An extended resource has a domain of its own, and room for the prefix that quotas add."""
    assert (not extended_resource_faults(name)) is valid
