"""A regular expression as a program: instructions that threads follow, in the order of preference."""

from __future__ import annotations

from dataclasses import dataclass

from bayplan.cel.regex.char_sets import CharTest
from bayplan.cel.regex.pattern import (
    Assertion,
    Chars,
    Choice,
    Concatenation,
    PatternError,
    PatternNode,
    Repeat,
    parse_pattern,
)

#: A program with more instructions is refused.
_MAX_SIZE = 100_000


@dataclass(slots=True)
class Instruction:
    """Read a character of a set, pass an assertion, fork, or accept if it is none of these."""

    test: CharTest | None = None
    assertion: str = ""
    #: Where to go on; several for a fork, the preferred one first; empty to accept.
    targets: tuple[int, ...] = ()


def compile_instructions(text: str) -> list[Instruction]:
    """The program of a regular expression; it starts at the first instruction. Raises PatternError."""
    builder = _ProgramBuilder(text)
    builder.emit(parse_pattern(text))
    builder.append(Instruction())
    return builder.program


class _ProgramBuilder:
    def __init__(self, text: str) -> None:
        self._text = text
        self.program: list[Instruction] = []

    def append(self, instruction: Instruction) -> int:
        """Add an instruction; returns where it is."""
        if len(self.program) >= _MAX_SIZE:
            raise PatternError("expression too large", self._text)
        self.program.append(instruction)
        return len(self.program) - 1

    def emit(self, node: PatternNode) -> None:
        """Add the instructions of a part, which end at the next free place."""
        match node:
            case Chars():
                self.append(Instruction(test=node.test, targets=(len(self.program) + 1,)))
            case Assertion():
                self.append(Instruction(assertion=node.kind, targets=(len(self.program) + 1,)))
            case Concatenation():
                for part in node.parts:
                    self.emit(part)
            case Choice():
                self._emit_choice(node)
            case Repeat():
                self._emit_repeat(node)

    def _emit_choice(self, node: Choice) -> None:
        fork = self.append(Instruction())
        starts, ends = [], []
        for option in node.options:
            starts.append(len(self.program))
            self.emit(option)
            ends.append(self.append(Instruction()))
        self.program[fork].targets = tuple(starts)
        for end in ends:
            self.program[end].targets = (len(self.program),)

    def _emit_repeat(self, node: Repeat) -> None:
        for _ in range(node.least):
            self.emit(node.part)
        if node.most < 0:
            self._emit_loop(node)
            return
        forks = []
        for _ in range(node.most - node.least):
            forks.append(self.append(Instruction()))
            self.emit(node.part)
        for fork in forks:
            self._set_fork(fork, fork + 1, len(self.program), node.greedy)

    def _emit_loop(self, node: Repeat) -> None:
        fork = self.append(Instruction())
        self.emit(node.part)
        self.append(Instruction(targets=(fork,)))
        self._set_fork(fork, fork + 1, len(self.program), node.greedy)

    def _set_fork(self, fork: int, more: int, done: int, greedy: bool) -> None:
        self.program[fork].targets = (more, done) if greedy else (done, more)
