// $Revision: 1.1 $
// Gravity between bodies: every pair, positions and masses in float4, tiles in shared memory.
//
// Teaches: float4 loads (x, y, z and the mass in w), one 16-byte access instead of four; rsqrtf, which on a GPU is the
// special-function unit (one instruction, not correctly rounded, the same bits on the CPU device); `swap:` of two pairs of
// buffers at once, since a step must not mix old and new positions.

struct Step {
    float dt;
    float softening_squared;  // keeps two bodies in one place from dividing by zero
    int bodies;
};

/// One leapfrog step. positions: x, y, z, mass; velocities: x, y, z, unused. Shared memory: 16 bytes a thread.
__global__ void nbody_step(float4* new_positions, float4* new_velocities, const float4* positions,
                           const float4* velocities, Step step)
{
    extern __shared__ float4 tile[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 own = i < step.bodies ? positions[i] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);

    float3 pull = make_float3(0.0f, 0.0f, 0.0f);
    for (int start = 0; start < step.bodies; start += blockDim.x) {
        if (start + threadIdx.x < step.bodies)
            tile[threadIdx.x] = positions[start + threadIdx.x];
        __syncthreads();
        const int count = min(static_cast<int>(blockDim.x), step.bodies - start);
        for (int j = 0; j < count; ++j) {
            const float4 other = tile[j];
            const float3 way = make_float3(other.x - own.x, other.y - own.y, other.z - own.z);
            const float squared = fmaf(way.x, way.x, fmaf(way.y, way.y, fmaf(way.z, way.z, step.softening_squared)));
            const float inverse = rsqrtf(squared);
            const float weight = other.w * inverse * inverse * inverse;
            pull.x = fmaf(way.x, weight, pull.x);
            pull.y = fmaf(way.y, weight, pull.y);
            pull.z = fmaf(way.z, weight, pull.z);
        }
        __syncthreads();
    }
    if (i >= step.bodies)
        return;
    float4 velocity = velocities[i];
    velocity.x = fmaf(pull.x, step.dt, velocity.x);
    velocity.y = fmaf(pull.y, step.dt, velocity.y);
    velocity.z = fmaf(pull.z, step.dt, velocity.z);
    new_velocities[i] = velocity;
    new_positions[i] = make_float4(fmaf(velocity.x, step.dt, own.x), fmaf(velocity.y, step.dt, own.y),
                                   fmaf(velocity.z, step.dt, own.z), own.w);
}
