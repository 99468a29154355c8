"""Parts of pods that are kept once."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.model import Pod

WORDS = st.sampled_from(["a", "b", "c"])
CONTAINERS = st.lists(
    st.fixed_dictionaries(
        {"name": WORDS, "resources": st.fixed_dictionaries({"requests": st.dictionaries(WORDS, WORDS)})}
    ),
    max_size=2,
)
PODS = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries({"name": WORDS, "labels": st.dictionaries(WORDS, WORDS)}),
        "spec": st.fixed_dictionaries(
            {"containers": CONTAINERS, "tolerations": st.lists(st.fixed_dictionaries({"key": WORDS}), max_size=2)}
        ),
    }
)


@given(st.lists(PODS, min_size=1, max_size=6))
def test_shared_parts_change_nothing(written: list[dict[str, object]]) -> None:
    """A pod that shares parts is equal to one that was decoded alone."""
    for each in written:
        data = msgspec.json.encode(each)
        assert Pod.from_json(data) == msgspec.json.decode(data, type=Pod)


def test_pods_alike_share_their_parts() -> None:
    data = b'{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"x"}],"tolerations":[{"key":"k"}]}}'
    one, other = Pod.from_json(data), Pod.from_json(data)
    assert one.spec.containers is other.spec.containers
    assert one.spec.tolerations is other.spec.tolerations
    assert one.labels is other.labels


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bayplan.model.pod.MAX_INTERNED", 3)
    pods = [Pod.from_json(b'{"metadata":{"labels":{"n":"%d"}}}' % number) for number in range(10)]
    assert [pod.labels for pod in pods] == [{"n": str(number)} for number in range(10)]
