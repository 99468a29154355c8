"""The custom resource definitions: what kubectl shows and what the API server stores."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.controllers.crds import definitions
from bayplan.model import ElasticQuota, KubeObject, PodGroup

BY_KIND = {each["spec"]["names"]["kind"]: each for each in definitions()}


@pytest.mark.parametrize("kind", [PodGroup, ElasticQuota], ids=lambda kind: kind.KIND)
def test_definition_is_of_the_kind_we_read(kind: type[KubeObject]) -> None:
    """Group, version, plural and scope are those of the model, and the status is a subresource."""
    spec = BY_KIND[kind.KIND]["spec"]
    (version,) = spec["versions"]

    assert f"{spec['group']}/{version['name']}" == kind.API_VERSION
    assert (spec["names"]["plural"], spec["scope"]) == (kind.PLURAL, "Namespaced")
    assert version["subresources"] == {"status": {}}
    assert BY_KIND[kind.KIND]["metadata"]["name"] == f"{kind.PLURAL}.{spec['group']}"


@pytest.mark.parametrize("kind", [PodGroup, ElasticQuota], ids=lambda kind: kind.KIND)
@pytest.mark.parametrize("part", ["spec", "status"])
def test_schema_has_every_field_we_read(kind: type[KubeObject], part: str) -> None:
    """A field that the schema lacks would be dropped by the API server."""
    schema = BY_KIND[kind.KIND]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    fields = type(getattr(kind(), part)).__struct_encode_fields__

    assert set(schema["properties"][part]["properties"]) == set(fields)


@pytest.mark.parametrize(
    ("kind", "columns", "short"),
    [
        ("PodGroup", ["Phase", "MinMember", "Running", "Succeeded", "Failed", "Age"], ["pg", "pgs"]),
        ("ElasticQuota", ["Used", "Max", "Age"], ["eq", "eqs"]),
    ],
)
def test_kubectl_shows_what_upstream_shows(kind: str, columns: list[str], short: list[str]) -> None:
    """The same columns and the same short names."""
    spec: dict[str, Any] = BY_KIND[kind]["spec"]

    assert [column["name"] for column in spec["versions"][0]["additionalPrinterColumns"]] == columns
    assert spec["names"]["shortNames"] == short
