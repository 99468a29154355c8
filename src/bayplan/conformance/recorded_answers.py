"""The answers of an exchange so far, and requests that refer to them: `{{N.a.b}}` is a field of answer N."""

from __future__ import annotations

import re
from typing import Any, Final

_PLACEHOLDER: Final = re.compile(r"\{\{([^{}]+)\}\}")


class RecordedAnswers:
    """Counted from 0, as the steps of the exchange are."""

    def __init__(self) -> None:
        self._answers: dict[int, Any] = {}

    def note(self, number: int, answer: Any) -> None:
        """Keep an answer, before it is normalised."""
        self._answers[number] = answer

    def filled(self, value: Any) -> Any:
        """*value* with every `{{N.a.b}}` replaced; a field that is not there is an empty text."""
        if isinstance(value, str):
            return _PLACEHOLDER.sub(lambda found: str(self._field(found[1])), value)
        if isinstance(value, dict):
            return {key: self.filled(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.filled(item) for item in value]
        return value

    def _field(self, path: str) -> Any:
        number, *keys = path.split(".")
        value = self._answers.get(int(number))
        for key in keys:
            try:
                value = value[int(key)] if isinstance(value, list) else (value or {}).get(key)
            except (AttributeError, IndexError, ValueError):
                value = None
        return "" if value is None else value
