// $Revision: 1.1 $
// Nearest-neighbour classification of handwritten digits: integer distances, ties to the lower index.
//
// Teaches: a block shares the training images tile by tile, so each is read from global memory once a block; a thread
// keeps its own query in registers (loaded as uint4: 16 pixels at once, which the buffer's alignment allows); all
// arithmetic is in integers, so the answer is the same on every device. The buffers come from files (configs/data/).

constexpr int PIXELS = 64;
constexpr int TILE = 32;
constexpr int WORDS = PIXELS / 4;

/// The squared distance of four pixels packed in a word from four others.
__device__ int squared_distance(unsigned int a, unsigned int b)
{
    int sum = 0;
    for (int shift = 0; shift < 32; shift += 8) {
        const int difference = static_cast<int>((a >> shift) & 0xff) - static_cast<int>((b >> shift) & 0xff);
        sum += difference * difference;
    }
    return sum;
}

/// Classifies images first_query … images - 1 by their nearest one among images 0 … train - 1, themselves left out. So
/// first_query = train is a split into train and test, and first_query = 0 with train = images is leave-one-out.
/// pixels: [images][64]. nearest, distance: [images - first_query]. *correct (from 0) counts the labels that agree.
__global__ void nearest_neighbour(int* nearest, int* distance, int* correct, const unsigned char* pixels,
                                  const unsigned char* labels, int first_query, int train, int images)
{
    __shared__ unsigned int tile[TILE][WORDS];
    const int query = blockIdx.x * blockDim.x + threadIdx.x;
    const bool is_query = query < images - first_query;
    const int image = first_query + (is_query ? query : 0);  // idle threads help to load, and must have something to load

    unsigned int own[WORDS];
    const uint4* parts = reinterpret_cast<const uint4*>(pixels) + image * (WORDS / 4);
    for (int i = 0; i < WORDS / 4; ++i) {
        const uint4 part = parts[i];
        own[4 * i] = part.x;
        own[4 * i + 1] = part.y;
        own[4 * i + 2] = part.z;
        own[4 * i + 3] = part.w;
    }

    const unsigned int* words = reinterpret_cast<const unsigned int*>(pixels);
    int best = -1;
    int best_distance = 0x7fffffff;
    for (int start = 0; start < train; start += TILE) {
        const int count = min(TILE, train - start);
        for (int i = threadIdx.x; i < count * WORDS; i += blockDim.x)
            tile[i / WORDS][i % WORDS] = words[start * WORDS + i];
        __syncthreads();
        for (int j = 0; j < count; ++j) {
            int sum = 0;
            for (int i = 0; i < WORDS; ++i)
                sum += squared_distance(own[i], tile[j][i]);
            if (sum < best_distance && start + j != image) {
                best_distance = sum;
                best = start + j;
            }
        }
        __syncthreads();
    }

    const bool is_right = is_query && labels[image] == labels[best];
    const int right = __syncthreads_count(is_right);
    if (threadIdx.x == 0)
        atomicAdd(correct, right);
    if (is_query) {
        nearest[query] = best;
        distance[query] = best_distance;
    }
}
