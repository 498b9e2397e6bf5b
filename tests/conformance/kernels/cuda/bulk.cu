// Bulk copies, and copies by tensor maps that the kernels make. All run with: grid 1, block 128, shared 17408
// Only for: sm_90a
typedef unsigned long long u64;

// 16 KB for a box, then a map, then an mbarrier.
extern __shared__ __align__(1024) unsigned char memory[];
constexpr int BOX = 16384, MAP = 16384, GATE = 16640;
__device__ __align__(128) u64 made[16];

/// A map's geometry and the coordinates of a copy, fastest axis first.
struct Box {
    int extent[5], box[5], step[5], at[5];
    u64 stride[4];
};
enum Type { U8, U16, U32, S32, U64, S64, F16, F32, F32_FTZ, F64, BF16, TF32, TF32_FTZ };
enum Operation { STORE, ADD, MIN, MAX, INC, DEC, AND, OR, XOR };

__device__ inline unsigned where(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ inline void proxy() { asm volatile("fence.proxy.async;" ::: "memory"); }

#define SET(field, value) asm volatile("tensormap.replace.tile." field \
    :: "r"(where(memory + MAP)), value : "memory")
#define MODE(field, value) SET(field ".shared::cta.b1024.b32 [%0], %1;", "n"(value))
#define AXIS(number) if constexpr (RANK > number) { \
        SET("box_dim.shared::cta.b1024.b32 [%0], " #number ", %1;", "r"(b.box[number])); \
        SET("global_dim.shared::cta.b1024.b32 [%0], " #number ", %1;", "r"(b.extent[number])); \
        SET("element_stride.shared::cta.b1024.b32 [%0], " #number ", %1;", "r"(b.step[number])); \
    } \
    if constexpr (RANK > number + 1) \
        SET("global_stride.shared::cta.b1024.b64 [%0], " #number ", %1;", "l"(b.stride[number < 4 ? number : 0]))

template <int RANK, int TYPE, int SWIZZLE, int INTERLEAVE, int FILL>
__device__ void make(const Box& b, const void* base)
{
    if (threadIdx.x < 16) reinterpret_cast<u64*>(memory + MAP)[threadIdx.x] = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        SET("global_address.shared::cta.b1024.b64 [%0], %1;", "l"(base));
        MODE("rank", RANK - 1); MODE("elemtype", TYPE); MODE("interleave_layout", INTERLEAVE);
        MODE("swizzle_mode", SWIZZLE); MODE("fill_mode", FILL);
        AXIS(0); AXIS(1); AXIS(2); AXIS(3); AXIS(4);
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned"
                     " [%0], [%1], 128;" :: "l"(made), "r"(where(memory + MAP)) : "memory");
        asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" :: "l"(made) : "memory");
    }
}

__device__ inline void expect(int bytes)
{
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(where(memory + GATE)));
        proxy();
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;"
                     :: "r"(where(memory + GATE)), "r"(bytes) : "memory");
    }
}

__device__ inline void meet()
{
    __syncthreads();
    asm volatile("{ .reg .pred p; WAIT: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra WAIT; }"
                 :: "r"(where(memory + GATE)) : "memory");
    __syncthreads();
    if (threadIdx.x == 0) asm volatile("mbarrier.inval.shared.b64 [%0];" :: "r"(where(memory + GATE)) : "memory");
}

__device__ inline void finish()
{
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
}

/// Copy a box to shared memory, `place` bytes from its begin, and `words` words of that to y.
template <int RANK, int TYPE, int SWIZZLE = 0, int INTERLEAVE = 0, int FILL = 0>
__device__ void load(const Box& b, const unsigned* x, unsigned*& y, int bytes, int words, int place = 0)
{
    make<RANK, TYPE, SWIZZLE, INTERLEAVE, FILL>(b, x);
    for (int i = threadIdx.x; i < BOX / 4; i += 128) reinterpret_cast<unsigned*>(memory)[i] = 0xCDCDCDCD;
    proxy();
    __syncthreads();
    expect(bytes);
    if (threadIdx.x == 0) {
        const int* c = b.at;
        unsigned to = where(memory + place), gate = where(memory + GATE);
#define LOAD(dimension, places, last, ...) \
        asm volatile("cp.async.bulk.tensor." dimension ".shared::cluster.global.mbarrier::complete_tx::bytes" \
                     " [%0], [%1, {" places "}], [%" last "];" :: "r"(to), "l"(made), __VA_ARGS__, "r"(gate) : "memory")
        if constexpr (RANK == 1) LOAD("1d", "%2", "3", "r"(c[0]));
        if constexpr (RANK == 2) LOAD("2d", "%2, %3", "4", "r"(c[0]), "r"(c[1]));
        if constexpr (RANK == 3) LOAD("3d", "%2, %3, %4", "5", "r"(c[0]), "r"(c[1]), "r"(c[2]));
        if constexpr (RANK == 4) LOAD("4d", "%2, %3, %4, %5", "6", "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
        if constexpr (RANK == 5)
            LOAD("5d", "%2, %3, %4, %5, %6", "7", "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "r"(c[4]));
    }
    meet();
    for (int i = threadIdx.x; i < words; i += 128) y[i] = reinterpret_cast<unsigned*>(memory + place)[i];
    y += words;
    __syncthreads();
}

/// Store or reduce a box of random words into y, whose `words` words are random before.
template <int TYPE, int OPERATION, int SWIZZLE = 0, int INTERLEAVE = 0>
__device__ void put(const Box& b, const unsigned* x, unsigned*& y, int words)
{
    make<3, TYPE, SWIZZLE, INTERLEAVE, 0>(b, y);
    for (int i = threadIdx.x; i < BOX / 4; i += 128) reinterpret_cast<unsigned*>(memory)[i] = x[i];
    for (int i = threadIdx.x; i < words; i += 128) y[i] = x[(i + 4096) & 8191];
    __threadfence();
    proxy();
    __syncthreads();
    if (threadIdx.x == 0) {
#define PUT(operation) \
        asm volatile(operation ".tile.bulk_group [%0, {%1, %2, %3}], [%4];" \
                     :: "l"(made), "r"(b.at[0]), "r"(b.at[1]), "r"(b.at[2]), "r"(where(memory)) : "memory")
#define REDUCE(operation) PUT("cp.reduce.async.bulk.tensor.3d.global.shared::cta." operation)
        if constexpr (OPERATION == STORE) PUT("cp.async.bulk.tensor.3d.global.shared::cta");
        if constexpr (OPERATION == ADD) REDUCE("add");
        if constexpr (OPERATION == MIN) REDUCE("min");
        if constexpr (OPERATION == MAX) REDUCE("max");
        if constexpr (OPERATION == INC) REDUCE("inc");
        if constexpr (OPERATION == DEC) REDUCE("dec");
        if constexpr (OPERATION == AND) REDUCE("and");
        if constexpr (OPERATION == OR) REDUCE("or");
        if constexpr (OPERATION == XOR) REDUCE("xor");
        finish();
    }
    __syncthreads();
    y += words;
}

// One to five axes, inside and partly outside.
extern "C" __global__ void axes(const unsigned* x, unsigned* y)
{
    load<1, U8>({{4003}, {64}, {1}, {3984}}, x, y, 64, 16);
    load<2, U16>({{120, 40}, {32, 8}, {1, 1}, {104, -3}, {240}}, x, y, 512, 128);
    load<3, U32>({{40, 12, 10}, {16, 4, 4}, {1, 1, 1}, {-4, 10, -1}, {160, 1920}}, x, y, 1024, 256);
    load<4, U64>({{24, 8, 6, 3}, {8, 4, 2, 3}, {1, 1, 1, 1}, {2, 3, 5, 1}, {192, 1536, 9216 - 16}}, x, y, 1536, 384);
    load<5, S32>({{16, 6, 5, 4, 3}, {8, 3, 2, 2, 2}, {1, 1, 1, 1, 1}, {8, 4, 3, 1, -1}, {64, 384, 1920, 7680}},
                 x, y, 768, 192);
}

// Every swizzle, with rows of its span and shorter ones, and at another place of its pattern.
extern "C" __global__ void swizzles(const unsigned* x, unsigned* y)
{
    const Box wide = {{256, 60}, {64, 12}, {1, 1}, {64, 51}, {512}}, narrow = {{256, 60}, {8, 12}, {1, 1}, {24, 3}, {512}};
    load<2, U16, 3>(wide, x, y, 1536, 384, 384);
    load<2, U16, 1>(narrow, x, y, 192, 96, 128);
    load<2, U16, 2>(narrow, x, y, 192, 192);
    load<2, U16, 3>(narrow, x, y, 192, 384, 256);
    load<2, U16, 2>({{256, 60}, {24, 5}, {1, 1}, {8, 3}, {512}}, x, y, 240, 80);
}

// Steps along each axis but the fastest.
extern "C" __global__ void steps(const unsigned* x, unsigned* y)
{
    load<3, U16>({{40, 12, 10}, {16, 5, 5}, {1, 2, 3}, {8, -1, 2}, {80, 960}}, x, y, 192, 48);
    load<2, U32>({{24, 40}, {8, 20}, {1, 8}, {4, 9}, {96}}, x, y, 96, 24);
}

// What is loaded of each type, with NaN where the tensor is not.
extern "C" __global__ void fills(const unsigned* x, unsigned* y)
{
    load<2, F16, 0, 0, 1>({{64, 32}, {16, 8}, {1, 1}, {56, 28}, {128}}, x, y, 256, 64);
    load<2, BF16, 0, 0, 1>({{64, 32}, {16, 8}, {1, 1}, {-8, 28}, {128}}, x, y, 256, 64);
    load<2, F32, 0, 0, 1>({{64, 32}, {32, 8}, {1, 1}, {40, -4}, {256}}, x, y, 1024, 256);
    load<2, F32_FTZ, 0, 0, 1>({{64, 32}, {32, 8}, {1, 1}, {40, 1}, {256}}, x, y, 1024, 256);
    load<2, F64, 0, 0, 1>({{32, 32}, {8, 8}, {1, 1}, {28, 1}, {256}}, x, y, 512, 128);
    load<2, TF32, 0, 0, 1>({{64, 32}, {32, 32}, {1, 1}, {40, 1}, {256}}, x, y, 4096, 1024);
    load<2, TF32_FTZ>({{64, 32}, {32, 32}, {1, 1}, {8, 1}, {256}}, x, y, 4096, 1024);
}

// Slices of channels of 16 and of 32 bytes.
extern "C" __global__ void slices(const unsigned* x, unsigned* y)
{
    load<3, U16, 0, 1>({{12, 6, 4}, {8, 3, 2}, {1, 1, 1}, {-2, 1, 3}, {192, 1152}}, x, y, 256, 64);
    load<4, U16, 3, 1>({{12, 5, 6, 4}, {8, 2, 1, 2}, {1, 1, 1, 1}, {6, 3, 2, 1}, {192, 960, 5760}}, x, y, 512, 128);
    load<3, U16, 1, 2>({{12, 6, 4}, {8, 1, 2}, {1, 1, 1}, {5, 1, 0}, {384, 2304}}, x, y, 512, 128);
}

// Stores that reach over the end of each axis, one with a part of a chunk.
extern "C" __global__ void stores(const unsigned* x, unsigned* y)
{
    put<U16, STORE>({{40, 12, 5}, {16, 4, 4}, {1, 1, 1}, {32, 9, 2}, {80, 960}}, x, y, 1216);
    put<U16, STORE>({{37, 12, 5}, {16, 4, 4}, {1, 1, 1}, {24, 3, 2}, {80, 960}}, x, y, 1216);
    put<U32, STORE, 3>({{40, 12, 5}, {8, 4, 4}, {1, 1, 1}, {8, 3, 2}, {160, 1920}}, x, y, 2432);
    put<U16, STORE>({{40, 12, 5}, {16, 4, 4}, {1, 2, 3}, {8, 1, 1}, {80, 960}}, x, y, 1216);
    put<TF32, STORE, 1>({{40, 12, 5}, {8, 4, 4}, {1, 1, 1}, {8, 3, 2}, {160, 1920}}, x, y, 2432);
}

// The memory of another block: bytes, reductions, single words, and one tile for both.
// grid 4, block 128, shared 17408
extern "C" __global__ void __cluster_dims__(2, 1, 1) neighbours(const unsigned* x, unsigned* y)
{
    unsigned rank, far, gate, t = threadIdx.x;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(far) : "r"(where(memory)), "r"(1 - rank));
    gate = far + GATE;
    unsigned* words = reinterpret_cast<unsigned*>(memory);
    for (int i = t; i < BOX / 4; i += 128) words[i] = x[(i + 1000 * blockIdx.x) & 8191];
    expect(2048 + 1024 + 128 * 24 + 512);
    proxy();
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %1, %2}, [%3];"
                 :: "r"(far + 8192 + 16 * t), "r"(t), "r"(rank), "r"(gate) : "memory");
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [%0], %1, [%2];"
                 :: "r"(far + 12288), "l"(3ull * t << 30), "r"(gate) : "memory");
    if (t == 0) {
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 2048, [%2];"
                     :: "r"(far + 4096), "r"(where(memory)), "r"(gate) : "memory");
        asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.max.u32"
                     " [%0], [%1], 1024, [%2];" :: "r"(far + 13312), "r"(where(memory)), "r"(gate) : "memory");
        if (rank == 1)
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                         " [%0], [%1], 512, [%2], %3;"
                         :: "r"(where(memory + 14848)), "l"(x + 256 * blockIdx.x), "r"(where(memory + GATE)),
                            "h"((short)3) : "memory");
    }
    meet();
    for (int i = t; i < BOX / 4; i += 128) y[blockIdx.x * BOX / 4 + i] = words[i];
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}

// A reduction of each kind.
extern "C" __global__ void reductions(const unsigned* x, unsigned* y)
{
    const Box words = {{40, 12, 5}, {16, 4, 4}, {1, 1, 1}, {32, 5, 2}, {160, 1920}};
    const Box pairs = {{40, 12, 5}, {8, 4, 4}, {1, 1, 1}, {36, 5, 2}, {320, 3840}};
    put<U32, ADD>(words, x, y, 2432); put<U32, INC>(words, x, y, 2432); put<U32, DEC>(words, x, y, 2432);
    put<S32, MIN>(words, x, y, 2432); put<S32, XOR, 2>(words, x, y, 2432); put<U32, MAX>(words, x, y, 2432);
    put<U64, ADD>(pairs, x, y, 4864); put<U64, AND>(pairs, x, y, 4864); put<S64, MAX>(pairs, x, y, 4864);
}

// The same of floating-point numbers.
extern "C" __global__ void float_reductions(const unsigned* x, unsigned* y)
{
    const Box halves = {{40, 12, 5}, {16, 4, 4}, {1, 1, 1}, {32, 5, 2}, {80, 960}};
    put<F16, ADD>(halves, x, y, 1216); put<F16, MIN>(halves, x, y, 1216); put<F16, MAX>(halves, x, y, 1216);
    put<BF16, ADD>(halves, x, y, 1216); put<BF16, MIN>(halves, x, y, 1216); put<BF16, MAX>(halves, x, y, 1216);
    put<F32, ADD>({{40, 12, 5}, {16, 4, 4}, {1, 1, 1}, {32, 5, 2}, {160, 1920}}, x, y, 2432);
    put<F64, ADD>({{40, 12, 5}, {8, 4, 4}, {1, 1, 1}, {36, 5, 2}, {320, 3840}}, x, y, 4864);
}

// Bytes without a map: to shared memory, from there to y, and reductions of each kind.
extern "C" __global__ void bytes(const unsigned* x, unsigned* y)
{
    for (int i = threadIdx.x; i < BOX / 4; i += 128) reinterpret_cast<unsigned*>(memory)[i] = i;
    proxy();
    __syncthreads();
    expect(8192 + 48);
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 8192, [%2];"
                     :: "r"(where(memory)), "l"(x + 4), "r"(where(memory + GATE)) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 48, [%2];"
                     :: "r"(where(memory + 8208)), "l"(x + 5000), "r"(where(memory + GATE)) : "memory");
    }
    meet();
    for (int i = threadIdx.x; i < 32 * 512; i += 128) y[i] = x[i & 8191];
    __threadfence();
    proxy();
    __syncthreads();
    if (threadIdx.x) return;
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 8256;"
                 :: "l"(y + 32 * 512 + 4), "r"(where(memory)) : "memory");
#define REDUCED(number, operation) asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." operation \
        " [%0], [%1], 2048;" :: "l"(y + 512 * number), "r"(where(memory + 16 * number)) : "memory")
    REDUCED(0, "add.u32"); REDUCED(1, "add.s32"); REDUCED(2, "add.u64"); REDUCED(3, "inc.u32"); REDUCED(4, "dec.u32");
    REDUCED(5, "min.s32"); REDUCED(6, "max.s32"); REDUCED(7, "min.u32"); REDUCED(8, "max.u32"); REDUCED(9, "min.u64");
    REDUCED(10, "max.s64"); REDUCED(11, "and.b32"); REDUCED(12, "or.b64"); REDUCED(13, "xor.b32");
    REDUCED(14, "add.noftz.f16"); REDUCED(15, "add.noftz.bf16"); REDUCED(16, "min.f16"); REDUCED(17, "max.f16");
    REDUCED(18, "min.bf16"); REDUCED(19, "max.bf16"); REDUCED(20, "add.f32"); REDUCED(21, "add.f64");
    finish();
}
