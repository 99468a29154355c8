"""--emulated-version, as in kube-scheduler."""

from __future__ import annotations

import click
import pytest

from bayplan.cli.emulated_version_option import chosen_release


def test_release_is_named() -> None:
    assert chosen_release("1.36").minor == "1.36"
    assert chosen_release("kube=1.37").minor == "1.37"


@pytest.mark.parametrize("version", ["1.35", "1.99", "newest", "kubelet=1.37"])
def test_other_release_is_refused(version: str) -> None:
    """The message starts with what was given, as it was given."""
    with pytest.raises(click.UsageError, match=f"^--emulated-version={version} is refused: "):
        chosen_release(version)
