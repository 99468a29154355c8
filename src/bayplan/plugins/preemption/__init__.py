"""Plugins that evict pods of lower priority at PostFilter."""
