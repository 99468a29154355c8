"""Label keys and values: what Kubernetes accepts, and its words for what it does not."""

import pytest

from bayplan.model.label_validation import join_errors, label_key_errors, label_value_errors


@pytest.mark.parametrize("key", ["app", "a", "example.com/my.app_x-1", "A" * 63, f"{'a' * 253}/x", "0/0"])
def test_valid_keys(key: str) -> None:
    """A name of up to 63 bytes, with or without a DNS prefix of up to 253."""
    assert label_key_errors(key) == []


@pytest.mark.parametrize(
    ("key", "start"),
    [
        pytest.param("a" * 64, "name part must be no more than 63 bytes", id="long name"),
        pytest.param(f"{'a' * 254}/x", "prefix part must be no more than 253 bytes", id="long prefix"),
        pytest.param("Ex_ample/x", "prefix part a lowercase RFC 1123 subdomain must consist", id="bad prefix"),
        pytest.param("/x", "prefix part must be non-empty", id="empty prefix"),
        pytest.param("x/", "name part must be non-empty", id="empty name"),
        pytest.param("a/b/c", "a valid label key must consist of alphanumeric", id="two slashes"),
        pytest.param("-a", "name part must consist of alphanumeric characters", id="starts with a dash"),
        pytest.param("a\n", "name part must consist of alphanumeric characters", id="ends with a line break"),
    ],
)
def test_invalid_keys(key: str, start: str) -> None:
    """The first complaint names the part that is wrong."""
    assert label_key_errors(key)[0].startswith(start)


@pytest.mark.parametrize(
    ("value", "count"), [("", 0), ("a.b_c-d", 0), ("v" * 63, 0), ("v" * 64, 1), ("-" * 64, 2)]
)
def test_values(value: str, count: int) -> None:
    """Empty, or up to 63 bytes that start and end with a letter or digit; complaints add up."""
    assert len(label_value_errors(value)) == count


def test_errors_are_joined() -> None:
    """One error stands alone, several are bracketed, repetitions are dropped."""
    assert join_errors(["a"]) == "a"
    assert join_errors(["a", "b", "a"]) == "[a, b]"
