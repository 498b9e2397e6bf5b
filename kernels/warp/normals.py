# $Revision: 1.1 $
"""Normals of a height field in Warp: arrays of two axes, of vectors, and a function of the user."""

import warp as wp


@wp.func
def height(field: wp.array2d(dtype=float), row: int, column: int):
    """The height at a place; outside of the field, that of its edge."""
    row = wp.clamp(row, 0, field.shape[0] - 1)
    column = wp.clamp(column, 0, field.shape[1] - 1)
    return field[row, column]


@wp.kernel
def normals(out: wp.array2d(dtype=wp.vec3), field: wp.array2d(dtype=float), spacing: float):
    """out[row, column] = the normal of the field there, by central differences."""
    row, column = wp.tid()
    x = (height(field, row, column + 1) - height(field, row, column - 1)) / (2.0 * spacing)
    y = (height(field, row + 1, column) - height(field, row - 1, column)) / (2.0 * spacing)
    out[row, column] = wp.normalize(wp.vec3(-x, -y, 1.0))
