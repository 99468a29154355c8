"""The public names of the package."""

import bayplan.model


def test_all_names_exist_once() -> None:
    """__all__ is sorted without repetition, and every name in it is there."""
    names = bayplan.model.__all__

    assert len(names) == len(set(names))
    assert all(hasattr(bayplan.model, name) for name in names)


def test_objects_are_public() -> None:
    """Every kind of object can be imported from the package."""
    for kind in bayplan.model.KINDS.values():
        assert getattr(bayplan.model, kind.name) is kind.type
