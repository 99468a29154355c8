"""Plugins that score nodes by measured load (Trimaran of scheduler-plugins)."""
