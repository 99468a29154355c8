"""The version, where everybody can have it."""

__version__ = "0.1.0"
