"""Scalars that YAML cannot read are refused like any other text that is not YAML."""

from __future__ import annotations

import pytest

from bayplan.client.errors import AccessError
from bayplan.client.kubeconfig_file import parse_kubeconfig


@pytest.mark.parametrize("scalar", ["2024-13-45", "!!int x", "!!float x", "0x_", "!!timestamp 1"])
def test_a_scalar_that_cannot_be_read_is_told_of(scalar: str) -> None:
    with pytest.raises(AccessError, match="the kubeconfig k is not YAML"):
        parse_kubeconfig(f"current-context: {scalar}\n", "k")
