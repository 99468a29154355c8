"""The custom resource definitions of scheduler-plugins, as YAML that kubectl can apply as well."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from typing import Any

import yaml

from bayplan.client import ConflictError, KubeClient

_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def definitions() -> Sequence[dict[str, Any]]:
    """Every definition, by file name."""
    files = sorted(resources.files(__name__).iterdir(), key=lambda file: file.name)
    return [yaml.safe_load(file.read_text()) for file in files if file.name.endswith(".yaml")]


async def install(client: KubeClient) -> None:
    """Create the definitions; existing ones are left unchanged."""
    for definition in definitions():
        try:
            await client.request("POST", _PATH, definition)
        except ConflictError:
            continue
