"""PodDisruptionBudgets and the pods that they count."""
