"""Regular expressions with RE2's syntax and meaning, in time that is linear in the text."""
