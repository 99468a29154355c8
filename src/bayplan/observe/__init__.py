"""Observation: records of decisions, metrics, health, logs. Looks on; decides nothing."""
