// $Revision: 1.0 $
// Morton codes: the bits of two coordinates in turn, so that points that are near have codes that are near.
//
// Teaches: functions for both sides, which a job can test without a kernel (`function:`) and compare with what the host's
// compiler makes of them (`twins: [host]`).
#pragma once

namespace morton {

/// The lower 16 bits of x, with a zero above each.
__host__ __device__ inline unsigned int spread(unsigned int x)
{
    x &= 0x0000ffffu;
    x = (x | x << 8) & 0x00ff00ffu;
    x = (x | x << 4) & 0x0f0f0f0fu;
    x = (x | x << 2) & 0x33333333u;
    return (x | x << 1) & 0x55555555u;
}

/// The code of (x, y), of which 16 bits each count.
__host__ __device__ inline unsigned int encode(unsigned int x, unsigned int y) { return spread(x) | spread(y) << 1; }

}  // namespace morton
