"""What gpuregress costs, as ratios against its peers: `python -m benchmarks`."""
