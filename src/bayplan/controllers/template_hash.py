"""The hash of a pod template, which tells the ReplicaSets of one Deployment apart."""

from __future__ import annotations

from typing import Any, Final

import msgspec

#: Letters and digits that form no words, as in generated names.
ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_OFFSET: Final = 0x811C9DC5
_PRIME: Final = 0x01000193


def template_hash(template: dict[str, Any]) -> str:
    """The 32-bit FNV-1a hash of the template, in the alphabet of generated names."""
    value = _OFFSET
    for byte in msgspec.json.encode(template, order="deterministic"):
        value = ((value ^ byte) * _PRIME) & 0xFFFFFFFF
    return "".join(ALPHABET[ord(digit) % len(ALPHABET)] for digit in str(value))
