"""The commands about capacity: `bayplan capacity`, `drain-plan` and `size`."""
