"""The devices that run kernels: one protocol, a literal registry."""
