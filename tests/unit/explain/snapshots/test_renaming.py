"""New names: the same wherever the old one was, in the same order."""

from __future__ import annotations

from bayplan.explain.snapshots.renaming import Renaming


def test_new_names_sort_like_the_old_ones() -> None:
    renaming = Renaming()
    old = [f"n{number:02}" for number in range(12)]
    assert [renaming("node", name) for name in old] == old  # collecting

    renaming.number()

    new = [renaming("node", name) for name in old]
    assert new == sorted(new)
    assert new[0] == "node-01"
    assert renaming.names("node") == dict(zip(old, new, strict=True))


def test_names_with_a_meaning_are_kept() -> None:
    renaming = Renaming()
    renaming("namespace", "kube-system")
    renaming.number()

    assert renaming("namespace", "kube-system") == "kube-system"
    assert renaming("namespace", "") == ""
