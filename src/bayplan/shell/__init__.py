"""The shell: drives the core against an API server. Carries out instructions and feeds the results back."""
