"""Questions of capacity: how many pods fit, where drained pods go, how many nodes are needed."""
