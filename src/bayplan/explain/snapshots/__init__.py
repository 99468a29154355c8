"""Snapshots of clusters: what scheduling reads of them, also under other names."""
