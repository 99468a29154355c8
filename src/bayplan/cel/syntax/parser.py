"""Tokens to a tree, by recursive descent. Precedence and places of nodes are cel-go's."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from bayplan.cel.cel_errors import Issue
from bayplan.cel.syntax.expression import (
    Call,
    Expression,
    Identifier,
    ListLiteral,
    Literal,
    MapEntry,
    MapLiteral,
    MessageLiteral,
    Select,
)
from bayplan.cel.syntax.lexer import END, Token, tokenize
from bayplan.cel.syntax.literal_text import (
    LiteralError,
    read_bytes,
    read_double,
    read_int,
    read_string,
    read_uint,
)
from bayplan.cel.syntax.macros import MacroError, Macros, expand

_RELATIONS = frozenset(("<", "<=", ">=", ">", "==", "!=", "in"))
_SUMS = frozenset(("+", "-"))
_PRODUCTS = frozenset(("*", "/", "%"))
_OPERATORS = {
    "<": "_<_", "<=": "_<=_", ">": "_>_", ">=": "_>=_", "==": "_==_", "!=": "_!=_", "in": "@in",
    "+": "_+_", "-": "_-_", "*": "_*_", "/": "_/_", "%": "_%_",
}  # fmt: skip
_RESERVED = frozenset(
    ("as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
     "package", "namespace", "null", "return", "true", "var", "void", "while")
)  # fmt: skip
#: What an expression can start with.
_STARTS = frozenset(
    ("[", "{", "(", ".", "-", "!", "true", "false", "null", "NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES",
     "IDENTIFIER")
)  # fmt: skip
#: What may follow an operand, besides what ends its surroundings.
_CONTINUATIONS = frozenset(
    ("==", "!=", "in", "<", "<=", ">=", ">", "&&", "||", "[", ".", "-", "?", "+", "*", "/", "%")
)
#: The order in which ANTLR lists tokens.
_ORDER = (
    END, "==", "!=", "in", "<", "<=", ">=", ">", "&&", "||", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?",
    ":", "+", "*", "/", "%", "true", "false", "null", "NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES",
    "IDENTIFIER", "ESC_IDENTIFIER",
)  # fmt: skip
_MAX_DEPTH = 250
_MAX_CODE_POINTS = 100_000


_CLOSERS = frozenset((")", "]", "}"))


def _listed(kinds: Collection[str]) -> str:
    """Tokens as ANTLR lists them."""
    names = [_spelled(kind) for kind in _ORDER if kind in kinds]
    return names[0] if len(names) == 1 else f"{{{', '.join(names)}}}"


def _spelled(kind: str) -> str:
    return kind if kind == END or kind.isupper() else f"'{kind}'"


def _shown(token: Token) -> str:
    return "" if token.kind == END else token.text


class _SyntaxError(Exception):
    def __init__(self, issue: Issue) -> None:
        super().__init__(issue.message)
        self.issue = issue


def parse(source: str, macros: Macros) -> tuple[Expression, list[Issue]]:
    """The tree, and what is wrong with the text; the tree means something only if nothing is."""
    if len(source) > _MAX_CODE_POINTS:
        message = f"expression code point size exceeds limit: size: {len(source)}, limit {_MAX_CODE_POINTS}"
        return Literal(-1, None), [Issue(-1, message)]
    tokens, issues = tokenize(source)
    parser = _Parser(tokens, macros, issues)
    try:
        tree = parser.parse_all()
    except _SyntaxError as error:
        return Literal(-1, None), [*issues, error.issue]
    return tree, issues


class _Parser:
    def __init__(self, tokens: Sequence[Token], macros: Macros, issues: list[Issue]) -> None:
        self._tokens = tokens
        self._macros = macros
        self._issues = issues
        self._next = 0
        self._depth = 0
        #: What ends the surroundings of the current operand, the innermost last.
        self._enclosing: list[frozenset[str]] = [frozenset((END,))]

    # --- tokens ---------------------------------------------------------------------------------------

    @property
    def _token(self) -> Token:
        return self._tokens[self._next]

    def _take(self) -> Token:
        token = self._tokens[self._next]
        self._next += 1
        return token

    def _accept(self, kind: str) -> Token | None:
        return self._take() if self._token.kind == kind else None

    def _expect(self, kind: str, *others: str) -> Token:
        """Take a token. One that is too many or missing is reported, and parsing goes on as if it were right."""
        token = self._token
        if token.kind == kind:
            return self._take()
        wanted = _listed({kind, *others})
        following = self._tokens[min(self._next + 1, len(self._tokens) - 1)]
        if following.kind == kind and token.kind != END:
            self._syntax_issue(token, f"extraneous input {token.display} expecting {wanted}")
            self._take()
            return self._take()
        if not others and kind in _CLOSERS and token.kind in _CONTINUATIONS | self._enclosing[-1]:
            self._syntax_issue(token, f"missing {wanted} at {token.display}")
            return Token(kind, kind, token.offset)
        raise self._syntax_error(token, f"mismatched input {token.display} expecting {wanted}")

    def _expect_start(self, *others: str) -> None:
        """Make sure that an expression starts here, or one of the other tokens follows."""
        token = self._token
        expected = {*_STARTS, *others}
        if token.kind in expected:
            return
        wanted = _listed(expected)
        following = self._tokens[min(self._next + 1, len(self._tokens) - 1)]
        if token.kind == END or following.kind not in expected:
            raise self._syntax_error(token, f"mismatched input {token.display} expecting {wanted}")
        self._syntax_issue(token, f"extraneous input {token.display} expecting {wanted}")
        self._take()

    def _syntax_issue(self, token: Token, message: str) -> None:
        self._issues.append(Issue(token.offset, f"Syntax error: {message}"))

    def _syntax_error(self, token: Token, message: str) -> _SyntaxError:
        return _SyntaxError(Issue(token.offset, f"Syntax error: {message}"))

    @contextmanager
    def _inside(self, *ends: str) -> Iterator[None]:
        """What may come after an operand in here."""
        self._enclosing.append(frozenset(ends))
        yield
        self._enclosing.pop()

    def _report(self, offset: int, message: str) -> Expression:
        self._issues.append(Issue(offset, message))
        return Literal(offset, None)

    # --- expressions ----------------------------------------------------------------------------------

    def parse_all(self) -> Expression:
        """The whole text as one expression."""
        tree = self._expression()
        token = self._token
        if token.kind != END:
            word = "extraneous" if self._tokens[self._next + 1].kind == END else "mismatched"
            raise self._syntax_error(token, f"{word} input {token.display} expecting <EOF>")
        return tree

    def _expression(self) -> Expression:
        self._expect_start()
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise _SyntaxError(Issue(-1, f"expression recursion limit exceeded: {_MAX_DEPTH}"))
        condition = self._logical("||", "_||_")
        question = self._accept("?")
        if question is not None:
            self._expect_start()
            with self._inside(":"):
                yes = self._logical("||", "_||_")
            self._expect(":")
            no = self._expression()
            condition = Call(question.offset, "_?_:_", None, [condition, yes, no])
        self._depth -= 1
        return condition

    def _check_depth(self, depth: int) -> None:
        """Chains of operators and members are as deep as they are long."""
        if depth > _MAX_DEPTH:
            raise _SyntaxError(Issue(-1, "max recursion depth exceeded"))

    def _logical(self, symbol: str, function: str) -> Expression:
        """A chain of `||` or `&&` is one call: the order is the same, and so is what it absorbs."""
        first = self._operand_of(symbol)
        if self._token.kind != symbol:
            return first
        terms = [first]
        offsets: list[int] = []
        while (operator := self._accept(symbol)) is not None:
            offsets.append(operator.offset)
            self._expect_start()
            terms.append(self._operand_of(symbol))
        return Call(offsets[len(offsets) // 2], function, None, terms)

    def _operand_of(self, symbol: str) -> Expression:
        return self._logical("&&", "_&&_") if symbol == "||" else self._binary(_RELATIONS)

    def _binary(self, symbols: frozenset[str]) -> Expression:
        left = self._tighter(symbols)
        count = 0
        while self._token.kind in symbols:
            count += 1
            self._check_depth(count + 1)
            operator = self._take()
            self._expect_start()
            right = self._tighter(symbols)
            left = Call(operator.offset, _OPERATORS[operator.kind], None, [left, right])
        return left

    def _tighter(self, symbols: frozenset[str]) -> Expression:
        if symbols is _RELATIONS:
            return self._binary(_SUMS)
        return self._binary(_PRODUCTS) if symbols is _SUMS else self._unary()

    def _unary(self) -> Expression:
        start = self._token
        if start.kind == "!":
            return self._negations(start, "!_")
        if start.kind == "-" and self._tokens[self._next + 1].kind not in ("NUM_INT", "NUM_FLOAT"):
            return self._negations(start, "-_")
        return self._member()

    def _negations(self, start: Token, function: str) -> Expression:
        """An even number of signs is none."""
        count = 0
        while self._token.kind == start.kind:
            self._take()
            count += 1
        self._check_operand(start)
        operand = self._member()
        return operand if count % 2 == 0 else Call(start.offset, function, None, [operand])

    def _check_operand(self, sign: Token) -> None:
        """What follows signs; ANTLR notices a bad one while it looks for more of them."""
        token = self._token
        if token.kind in _STARTS:
            return
        wanted = _listed(_STARTS)
        if sign.kind == "!":
            raise self._syntax_error(token, f"extraneous input {token.display} expecting {wanted}")
        self._syntax_issue(token, f"no viable alternative at input '-{_shown(token)}'")
        raise self._syntax_error(token, f"mismatched input {token.display} expecting {wanted}")

    # --- members --------------------------------------------------------------------------------------

    def _member(self) -> Expression:
        node = self._primary()
        for count in itertools.count(1):
            self._check_depth(count)
            if self._token.kind == ".":
                node = self._select(node)
            elif self._token.kind == "[":
                node = self._index(node)
            else:
                break
        return node

    def _select(self, operand: Expression) -> Expression:
        dot = self._take()
        optional = self._accept("?")
        token = self._token
        if token.kind == "ESC_IDENTIFIER":
            return self._report(self._take().offset, "unsupported syntax: '`'")
        if token.kind != "IDENTIFIER":
            raise self._bad_name(token, optional is not None)
        self._take()
        if optional is not None:
            return Call(dot.offset, "_?._", None, [operand, Literal(token.offset, token.text)])
        if self._token.kind == "(":
            opening = self._take()
            return self._call(opening.offset, token.text, operand, self._arguments())
        return Select(dot.offset, operand, token.text)

    def _bad_name(self, token: Token, optional: bool) -> _SyntaxError:
        if token.kind in ("true", "false", "null"):
            return self._syntax_error(token, f"mismatched input {token.display} expecting IDENTIFIER")
        if optional:
            wanted = _listed(("IDENTIFIER", "ESC_IDENTIFIER"))
            self._syntax_issue(token, f"mismatched input {token.display} expecting {wanted}")
            return _SyntaxError(Issue(token.offset, "unsupported ident kind"))
        return self._syntax_error(token, f"no viable alternative at input '.{_shown(token)}'")

    def _index(self, operand: Expression) -> Expression:
        bracket = self._take()
        self._expect_start("?")
        optional = self._accept("?")
        with self._inside("]"):
            index = self._expression()
        self._expect("]")
        function = "_[_]" if optional is None else "_[?_]"
        return Call(bracket.offset, function, None, [operand, index])

    def _arguments(self) -> list[Expression]:
        """What is between parentheses, the first of which is taken."""
        self._expect_start(")")
        if self._accept(")"):
            return []
        with self._inside(")", ","):
            args = [self._expression()]
            while self._accept(","):
                args.append(self._expression())
        self._expect(")")
        return args

    def _call(self, offset: int, function: str, target: Expression | None, args: list[Expression]) -> Expression:
        try:
            expansion = expand(self._macros, offset, function, target, args)
        except MacroError as error:
            return self._report(error.offset, str(error))
        return Call(offset, function, target, args) if expansion is None else expansion

    # --- primaries ------------------------------------------------------------------------------------

    def _primary(self) -> Expression:
        token = self._token
        if token.kind in ("IDENTIFIER", "."):
            return self._name()
        if token.kind == "(":
            self._take()
            with self._inside(")"):
                node = self._expression()
            self._expect(")")
            return node
        if token.kind == "[":
            return self._list()
        if token.kind == "{":
            self._take()
            return MapLiteral(token.offset, self._entries())
        return self._literal()

    def _name(self) -> Expression:
        start = self._token
        leading = "." if self._accept(".") else ""
        token = self._token
        if token.kind != "IDENTIFIER":
            raise self._syntax_error(token, f"no viable alternative at input '.{_shown(token)}'")
        self._take()
        message = self._message(leading + token.text)
        if message is not None:
            return message
        opening = self._accept("(")
        args = [] if opening is None else self._arguments()
        if token.text in _RESERVED:
            return self._report(start.offset, f"reserved identifier: {token.text}")
        if opening is None:
            return Identifier(token.offset, leading + token.text)
        return self._call(opening.offset, leading + token.text, None, args)

    def _message(self, name: str) -> Expression | None:
        """`a.b.Name{...}`: only what follows the names tells it from a select."""
        ahead = self._next
        while self._tokens[ahead].kind == "." and self._tokens[ahead + 1].kind == "IDENTIFIER":
            name += f".{self._tokens[ahead + 1].text}"
            ahead += 2
        if self._tokens[ahead].kind != "{":
            return None
        self._next = ahead
        return MessageLiteral(self._take().offset, name, self._entries(fields=True))

    def _list(self) -> Expression:
        bracket = self._take()
        elements: list[Expression] = []
        optional: set[int] = set()
        self._expect_start("]", ",", "?")
        while self._another(bool(elements), "]"):
            if self._accept("?"):
                optional.add(len(elements))
            with self._inside("]", ","):
                elements.append(self._expression())
        return ListLiteral(bracket.offset, elements, frozenset(optional))

    def _another(self, has_some: bool, closer: str) -> bool:
        """Whether another element follows; takes the commas, one of which may be last, and the closing token."""
        if self._accept(closer):
            return False
        if not has_some and self._token.kind != ",":
            return True
        self._expect(",", closer)
        if has_some and self._token.kind in {*_STARTS, "?"}:
            return True
        self._expect(closer)
        return False

    def _entries(self, *, fields: bool = False) -> list[MapEntry]:
        """What is between braces, the first of which is taken."""
        entries: list[MapEntry] = []
        if not fields:
            self._expect_start("}", ",", "?")
        while self._another(bool(entries), "}"):
            optional = self._accept("?") is not None
            with self._inside(":"):
                key = self._field_name() if fields else self._expression()
            colon = self._expect(":")
            with self._inside("}", ","):
                entries.append(MapEntry(colon.offset, key, self._expression(), optional))
        return entries

    def _field_name(self) -> Expression:
        token = self._expect("IDENTIFIER")
        return Literal(token.offset, token.text)

    def _literal(self) -> Expression:
        start = self._token
        negative = self._accept("-") is not None
        token = self._token
        try:
            value = self._literal_value(token, negative=negative)
        except LiteralError as error:
            return self._report(start.offset, str(error))
        return Literal(start.offset, value)

    def _literal_value(self, token: Token, *, negative: bool) -> object:
        kind = token.kind
        if kind == "NUM_INT":
            return read_int(self._take().text, negative=negative)
        if kind == "NUM_FLOAT":
            return read_double(self._take().text, negative=negative)
        if kind == "NUM_UINT":
            return read_uint(self._take().text)
        if kind == "STRING":
            return read_string(self._take().text)
        if kind == "BYTES":
            return read_bytes(self._take().text)
        if kind in _CONSTANTS:
            return _CONSTANTS[self._take().kind]
        raise self._syntax_error(token, f"mismatched input {token.display} expecting {_listed(_STARTS)}")


_CONSTANTS = {"true": True, "false": False, "null": None}
