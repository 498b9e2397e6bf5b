"""Textures and surfaces: tex, tld4, txq, suld, sust, suq through 64-bit handles.

A handle is the address of a descriptor in the arena that the launch's machine holds: the extents, the channels' format
and the sampler's state. All coordinates and texels are read by one generated function a form.
"""

from __future__ import annotations
