"""Validation of custom resources and definitions, as recorded from kube-apiserver v1.36.4."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from bayplan.apiserver.codec import Codecs
from bayplan.apiserver.custom.custom_codec import CustomCodec
from bayplan.apiserver.custom.definitions import DefinitionStrategy
from bayplan.apiserver.custom.value_validation import check
from bayplan.apiserver.registry.api_resources import ApiResource
from bayplan.apiserver.schema.schemas import published

_RECORDED: dict[str, Any] = json.loads(gzip.decompress(Path(__file__).with_name("recorded.json.gz").read_bytes()))
_RESOURCE = ApiResource("ex.com", "v1", "Wid", "wids", "wid", True, custom=True)
_CODEC = CustomCodec(_RESOURCE, _RECORDED["schema"], published())


def _findings(causes: Any) -> list[tuple[str, str, str]]:
    return sorted((cause["field"], cause["reason"], cause["message"]) for cause in causes)


@pytest.mark.parametrize("case", _RECORDED["values"], ids=lambda case: json.dumps(case["given"])[:60])
def test_values_against_the_schema(case: dict[str, Any]) -> None:
    """Pruned, defaulted and refused with the same messages."""
    body = {"apiVersion": "ex.com/v1", "kind": "Wid", "metadata": {"name": "w"}, "spec": case["given"]}
    decoded = _CODEC.decode(body, collect_unknown=True)
    causes = list(check(_RECORDED["schema"], decoded.obj, ""))
    if case["status"] == 201:
        assert causes == []
        assert decoded.obj.get("spec") == case["spec"]
    else:
        found = [{"field": each.field, "reason": each.reason, "message": each.message} for each in causes]
        assert _findings(found) == _findings(case["causes"])
    assert [each.replace('\\"', '"') for each in case["warnings"]] == [
        f'299 - "{text}"' for text in decoded.unknown
    ]


@pytest.mark.parametrize("case", _RECORDED["definitions"], ids=lambda case: case["case"])
def test_definitions_against_the_rules(case: dict[str, Any]) -> None:
    """The same fields are refused."""
    strategy = DefinitionStrategy(lambda: "2026-01-01T00:00:00Z")
    obj = Codecs().of_kind("apiextensions.k8s.io/v1", "CustomResourceDefinition").decode(case["given"]).obj
    strategy.default(obj)
    strategy.prepare_create(obj)
    causes = case["causes"] if case["status"] == 422 else []
    assert {each.field for each in strategy.validate(obj)} == {cause["field"] for cause in causes}
