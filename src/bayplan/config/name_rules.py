"""Kubernetes' rules for names: label keys and values, DNS subdomains, extended resources.

Each function returns the reasons why a name is invalid; an empty list means it is valid.
"""

from __future__ import annotations

import re

_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME_MAX = 63
_SUBDOMAIN_MAX = 253
_NAME_RULE = "letters, digits, '-', '_' or '.', with a letter or digit at both ends"
_NATIVE_DOMAIN = "kubernetes.io/"
_QUOTA_PREFIX = "requests."


def label_key_faults(key: str) -> list[str]:
    """A label key is `name` or `prefix/name`; resource names and topology keys follow the same rule."""
    *prefixes, name = key.split("/")
    if len(prefixes) > 1:
        return [f'"{key}" has more than one "/"; the form is name or prefix/name, as in example.com/name']
    faults = [fault for prefix in prefixes for fault in _prefix_faults(prefix)]
    if not name:
        faults.append("the name is empty")
    elif len(name) > _NAME_MAX:
        faults.append(f"the name is longer than {_NAME_MAX} characters")
    elif not _NAME.fullmatch(name):
        faults.append(f'"{name}" is not a valid name; it consists of {_NAME_RULE}')
    return faults


def label_value_faults(value: str) -> list[str]:
    if len(value) > _NAME_MAX:
        return [f"the value is longer than {_NAME_MAX} characters"]
    if value and not _NAME.fullmatch(value):
        return [f'"{value}" is not a valid label value; it is empty or consists of {_NAME_RULE}']
    return []


def extended_resource_faults(name: str) -> list[str]:
    """An extended resource has a domain of its own, outside kubernetes.io."""
    faults = label_key_faults(name)
    if faults:
        return faults
    if "/" not in name or _NATIVE_DOMAIN in name:
        return [f'"{name}" is not an extended resource, which has a domain of its own, as in example.com/gpu']
    if name.startswith(_QUOTA_PREFIX):
        return [f'"{name}" must not start with "{_QUOTA_PREFIX}"']
    return label_key_faults(_QUOTA_PREFIX + name)


def _prefix_faults(prefix: str) -> list[str]:
    if not prefix:
        return ['the part before "/" is empty']
    if len(prefix) > _SUBDOMAIN_MAX:
        return [f'the part before "/" is longer than {_SUBDOMAIN_MAX} characters']
    if not _SUBDOMAIN.fullmatch(prefix):
        return [f'"{prefix}" is not a domain name: lower-case letters, digits, "-" and "."']
    return []
