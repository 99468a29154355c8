"""The version, where everybody can have it."""

from typing import Final

__version__ = "0.1.0"

#: Whether this is the build whose busiest modules are machine code, of which this module is one.
IS_COMPILED: Final = not __file__.endswith(".py")
