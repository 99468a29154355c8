"""From text to a tree: the lexer, the parser and the macros."""
