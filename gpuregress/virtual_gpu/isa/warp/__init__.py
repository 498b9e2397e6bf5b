"""Communication in a warp, a block or a cluster: shuffles, votes, barriers."""
