"""From a checked tree to closures, and the values they compute with."""
