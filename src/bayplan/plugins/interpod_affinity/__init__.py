"""InterPodAffinity: its terms, its filter and its score."""
