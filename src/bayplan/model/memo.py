"""Values worked out once per object. Objects of the model never change, and one thread works on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from functools import cached_property
else:

    class cached_property:
        """A method whose answer stays in the object's `__dict__`, where it is found without asking here again."""

        def __init__(self, function):
            self.func = function
            self.__doc__ = function.__doc__

        def __set_name__(self, owner, name):
            self.attrname = name

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            value = instance.__dict__[self.attrname] = self.func(instance)
            return value


__all__ = ["cached_property"]
