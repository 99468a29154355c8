"""Matching in linear time: a set of threads moves through the text, one character at a time, without backtracking.

`search` remembers the sets it has met with the characters that lead from one to the next, so that it costs one
lookup a character after a while. `find` keeps the order of the threads, which decides which match is preferred.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from bayplan.cel.regex.instructions import compile_instructions

_WORD: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
#: When more transitions are remembered, all are forgotten.
_MAX_TRANSITIONS: Final = 10_000
_START, _NEWLINE, _WORD_CHAR, _OTHER = "start", "newline", "word", "other"
_Threads = tuple[int, ...]
_State = tuple[_Threads, str]


class LinearRegex:
    """A compiled regular expression."""

    def __init__(self, text: str) -> None:
        self._program = compile_instructions(text)
        #: State and next character → the next state, or None for a match.
        self._transitions: dict[tuple[_State, str], _State | None] = {}

    def search(self, text: str) -> bool:
        """Whether the expression matches somewhere."""
        state: _State | None = ((0,), _START)
        transitions = self._transitions
        for char in text:
            key = (state, char)
            try:
                state = transitions[key]  # type: ignore[index]
            except KeyError:
                state = self._learn(key)  # type: ignore[arg-type]
            if state is None:
                return True
        assert state is not None  # noqa: S101 - None was returned above
        return self._accepts(self._closure(state[0], state[1], ""))

    def find(self, text: str, start: int = 0) -> tuple[int, int] | None:
        """The leftmost match from a place on, and of those there the preferred one."""
        best: tuple[int, int] | None = None
        threads: dict[int, int] = {}
        for at in range(start, len(text) + 1):
            if best is None and 0 not in threads:
                threads[0] = at
            before = _kind(text[at - 1]) if at else _START
            following = text[at : at + 1]
            moved: dict[int, int] = {}
            for place, began in self._ordered(threads, before, following):
                instruction = self._program[place]
                if instruction.test is None:
                    best = (began, at)
                    break
                if following and instruction.test(following):
                    moved.setdefault(place + 1, began)
            threads = moved
            if not threads and best is not None:
                break
        return best

    def find_all(self, text: str, limit: int) -> list[str]:
        """All matches one after the other, at most as many as the limit unless that is negative."""
        found: list[str] = []
        at, previous_end = 0, -1
        while at <= len(text) and len(found) != limit:
            match = self.find(text, at)
            if match is None:
                break
            begin, end = match
            # An empty match right after another is none.
            if end > begin or begin != previous_end:
                found.append(text[begin:end])
            previous_end = end
            at = end if end > begin else end + 1
        return found

    def _learn(self, key: tuple[_State, str]) -> _State | None:
        """Compute a transition."""
        (threads, before), char = key
        places = self._closure(threads, before, char)
        after: _State | None = None
        if not self._accepts(places):
            moved = {place + 1 for place in places if (test := self._program[place].test) and test(char)}
            after = (tuple(sorted(moved | {0})), _kind(char))
        if len(self._transitions) >= _MAX_TRANSITIONS:
            self._transitions.clear()
        self._transitions[key] = after
        return after

    def _accepts(self, places: Iterable[int]) -> bool:
        return any(self._program[place].test is None for place in places)

    def _closure(self, threads: Iterable[int], before: str, following: str) -> set[int]:
        return {place for place, _ in self._ordered(dict.fromkeys(threads, 0), before, following)}

    def _ordered(self, threads: dict[int, int], before: str, following: str) -> Iterator[tuple[int, int]]:
        """The places where threads read a character or accept, in the order of preference."""
        seen: set[int] = set()
        for first, began in threads.items():
            waiting = [first]
            while waiting:
                place = waiting.pop()
                if place in seen:
                    continue
                seen.add(place)
                instruction = self._program[place]
                if instruction.test is not None or not instruction.targets:
                    yield place, began
                elif not instruction.assertion or _holds(instruction.assertion, before, following):
                    waiting.extend(reversed(instruction.targets))


def _kind(char: str) -> str:
    if char in _WORD:
        return _WORD_CHAR
    return _NEWLINE if char == "\n" else _OTHER


def _holds(assertion: str, before: str, following: str) -> bool:
    if assertion == "text_start":
        return before == _START
    if assertion == "text_end":
        return not following
    if assertion == "line_start":
        return before in (_START, _NEWLINE)
    if assertion == "line_end":
        return following in ("", "\n")
    at_boundary = (before == _WORD_CHAR) is not (following in _WORD if following else False)
    return at_boundary is (assertion == "word_boundary")


@lru_cache(maxsize=1024)
def compile_regex(text: str) -> LinearRegex:
    """A compiled regular expression, kept for the next time. Raises PatternError."""
    return LinearRegex(text)
