"""Benchmarks of gpuregress as ratios against its peers: `python -m benchmarks`."""
