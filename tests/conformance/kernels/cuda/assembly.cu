// Inline PTX that intrinsics do not give. All run with: grid 4, block 256
#include "values.cuh"

extern "C" __global__ void carries(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    unsigned a[4], b[4], s[5];
    for (int k = 0; k < 4; ++k) a[k] = x[i + k], b[k] = x[i + 1024 + k];
    asm("add.cc.u32 %0, %5, %9;\n\taddc.cc.u32 %1, %6, %10;\n\taddc.cc.u32 %2, %7, %11;\n\taddc.cc.u32 %3, %8, %12;\n\taddc.u32 %4, 0, 0;"
        : "=r"(s[0]), "=r"(s[1]), "=r"(s[2]), "=r"(s[3]), "=r"(s[4])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]));
    for (int k = 0; k < 5; ++k) y[7 * i + k] = s[k];
    asm("mad.lo.cc.u32 %0, %2, %3, %4;\n\tmadc.hi.u32 %1, %2, %3, 0;" : "=r"(s[0]), "=r"(s[1]) : "r"(a[0]), "r"(b[0]), "r"(a[1]));
    y[7 * i + 5] = s[0], y[7 * i + 6] = s[1];
}

extern "C" __global__ void fields(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    unsigned a = x[i], b = x[i + 1024], r, *out = y + 8 * i;
    asm("bfe.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b & 31), "r"(b >> 27));
    out[0] = r;
    asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(r) : "r"(a), "r"(b), "r"(i & 31), "r"(7));
    out[1] = r;
    asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(r) : "r"(a), "r"(b), "r"(i));
    out[2] = r;
    asm("prmt.b32.ecl %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(i));
    out[3] = r;
    asm("bfind.shiftamt.u32 %0, %1;" : "=r"(r) : "r"(a));
    out[4] = r;
    asm("szext.wrap.s32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    out[5] = r;
    asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(i));
    out[6] = r;
    asm("shf.l.clamp.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(i & 63));
    out[7] = r;
}

extern "C" __global__ void accesses(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    unsigned a, b, c, d, e, f;
    asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(x + 4 * (i & 511)));
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(e) : "l"(x + i));
    asm volatile("prefetch.global.L2 [%0];" ::"l"(x + i));
    asm volatile("st.global.cs.v2.u32 [%0], {%1, %2};" ::"l"(y + 8 * i), "r"(a ^ c), "r"(b + d) : "memory");
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(y + 8 * i + 2), "r"(e) : "memory");
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(f) : "l"(y + 8 * i + 2) : "memory");
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(y + 8 * i + 3), "r"(f + 1) : "memory");
    asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(f) : "l"(y + 8 * i + 3) : "memory");
    asm volatile("st.global.wt.u32 [%0], %1;" ::"l"(y + 8 * i + 4), "r"(f * 2) : "memory");
    asm volatile("ld.global.L1::no_allocate.L2::128B.u32 %0, [%1];" : "=r"(f) : "l"(x + i));
    asm volatile("st.global.b8 [%0], %1;" ::"l"(y + 8 * i + 5), "r"(f) : "memory");
    asm volatile("membar.gl;" ::: "memory");
    signed char narrow = ((const signed char*)x)[i];
    y[8 * i + 6] = narrow;
    y[8 * i + 7] = __ldg(x + i) + __ldcs(x + i) + __ldcg(x + i);
}

extern "C" __global__ void addresses(const unsigned* x, unsigned* y)
{
    __shared__ unsigned word;
    unsigned own = x[thread_of_grid()], r, *chosen = own & 1 ? &word : &own;
    if (threadIdx.x == 0) word = 7;
    __syncthreads();
    r = *chosen;
    y[thread_of_grid()] = r + __isShared(chosen) * 2 + __isLocal(chosen) * 4 + __isGlobal(chosen) * 8 + __isGlobal(y) * 16 +
                          (unsigned)__cvta_generic_to_shared(&word) * 0;
}

extern "C" __global__ void matrix_moves(const unsigned* x, unsigned* y)
{
    __shared__ __align__(16) unsigned tile[256];
    int lane = threadIdx.x & 31, i = thread_of_grid();
    tile[threadIdx.x] = x[i];
    __syncthreads();
    unsigned at = (unsigned)__cvta_generic_to_shared(tile + 128 * (threadIdx.x / 128)) + 16 * lane, a, b, c, d;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at));
    y[8 * i] = a, y[8 * i + 1] = b, y[8 * i + 2] = c, y[8 * i + 3] = d;
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(at));
    y[8 * i + 4] = a, y[8 * i + 5] = b;
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(a) : "r"(at));
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(b) : "r"(c));
    y[8 * i + 6] = a, y[8 * i + 7] = b;
}
