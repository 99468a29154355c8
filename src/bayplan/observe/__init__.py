"""Observability: records of decisions, metrics, health checks and logs. Nothing here affects a decision."""
