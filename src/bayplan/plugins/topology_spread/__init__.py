"""PodTopologySpread: its constraints, its filter and its score."""
