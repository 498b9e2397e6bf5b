// $Revision: 1.0 $
// An image turned around its middle, read through a texture, written through a surface.
//
// Teaches: a texture does in hardware what a kernel otherwise writes by hand: it mixes the four nearest elements (`filter:
// linear`), and says what lies beyond the edge (`address: border` is 0). An element's middle is at its index + 0.5. The
// job's buffers say how they are sampled; the kernel gets handles. Weights have 8 bits of fraction, so results of linear
// filtering are compared within a tolerance, those of `filter: point` bit for bit.

/// out(row, column) = in, turned back by the angle whose cosine and sine are given. One thread an element.
__global__ void rotate(cudaSurfaceObject_t out, cudaTextureObject_t in, int rows, int columns, float cosine, float sine)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows || column >= columns)
        return;
    const float x = column + 0.5f - 0.5f * columns;
    const float y = row + 0.5f - 0.5f * rows;
    const float value = tex2D<float>(in, cosine * x - sine * y + 0.5f * columns, sine * x + cosine * y + 0.5f * rows);
    surf2Dwrite(value, out, column * int(sizeof(float)), row);
}
