"""What kubectl prints, less what differs from cluster to cluster: generated names, times, numbers."""

from __future__ import annotations

import re
from typing import Final

_SAFE: Final = "[bcdfghjklmnpqrstvwxz2456789]"

#: In this order: what is replaced first is not looked at again.
_RULES: Final = [
    (re.compile(pattern, re.MULTILINE), text)
    for pattern, text in (
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
        (r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "TIME"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4} \w+", "TIME"),
        (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID"),
        (r'(resourceVersion"?: ?)"\d+"', r'\1"RV"'),
        # Pods of a Deployment, then of others with generated names, then what carries the hash of a template.
        (rf"-{_SAFE}{{6,10}}-{_SAFE}{{5}}\b", "-HASH-SUFFIX"),
        (rf"(pod-template-hash\"?[:=] ?\"?){_SAFE}{{6,10}}", r"\1HASH"),
        (rf"(?<=[a-z0-9])-(?=\S*[2-9]){_SAFE}{{8,10}}\b", "-HASH"),
        (r"(?<=\.)[0-9a-f]{16}\b", "EVENT"),
        # Ages in tests are short; 100m and more is processor time.
        (r"(?<![\w.-])(\d{1,3}s|\d{1,2}m(\d{1,2}s)?)(?![\w.%])", "AGE"),
        (r"<invalid>", "AGE"),
        (r"\b10(\.\d{1,3}){3}\b", "IP"),
        # Columns are as wide as what is in them.
        (r"(?<=\S)[ \t]{2,}(?=\S)", "  "),
        (r"[ \t]+$", ""),
    )
]


def normalised(text: str) -> str:
    """The text with words in place of what differs."""
    for pattern, word in _RULES:
        text = pattern.sub(word, text)
    return text
