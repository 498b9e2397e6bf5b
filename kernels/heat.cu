// $Revision: 1.1 $
// The heat equation on a plate with fixed edges: an explicit five-point stencil, one launch a time step.
//
// Teaches: two buffers that change places after each step (`swap:` in the job), since a block must not read what its
// neighbour has already moved on; parameters in one struct by value, as real codes pass them; double precision.

struct Plate {
    int width;
    int height;
    double ratio;  // diffusivity * dt / dx^2; the scheme is stable up to 0.25
};

/// One time step from `now` to `next`, both [height][width]; the edge keeps its temperature.
__global__ void heat_step(double* next, const double* now, Plate plate)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= plate.width || y >= plate.height)
        return;
    const int here = y * plate.width + x;
    if (x == 0 || y == 0 || x == plate.width - 1 || y == plate.height - 1) {
        next[here] = now[here];
        return;
    }
    const double around = now[here - 1] + now[here + 1] + now[here - plate.width] + now[here + plate.width];
    next[here] = now[here] + plate.ratio * (around - 4.0 * now[here]);
}
