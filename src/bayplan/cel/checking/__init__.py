"""Static types: what a name and a function mean, and whether an expression uses them rightly."""
