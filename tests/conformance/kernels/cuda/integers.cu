// Integer arithmetic of every width. All run with: grid 4, block 256
// Compiled with: --device-int128
#include "values.cuh"

#define OPERANDS                                                                     \
    int i = thread_of_grid();                                                        \
    unsigned a = x[i], b = i % 5 ? x[i + 1024] >> (i % 32) : 0, c = x[i + 2048];     \
    unsigned long long wa = wide_of(a, c), wb = i % 7 ? wide_of(b, x[i + 3072]) >> (i % 64) : 3

extern "C" __global__ void words(const unsigned* x, unsigned* y)
{
    OPERANDS;
    unsigned* out = y + 12 * i;
    unsigned divisor = b ? b : 1;
    int signed_divisor = (int)divisor == -1 ? 3 : (int)divisor;
    out[0] = a / divisor, out[1] = a % divisor;
    out[2] = (int)a / signed_divisor, out[3] = (int)a % signed_divisor;
    out[4] = a * b + c, out[5] = __umulhi(a, b), out[6] = __mulhi((int)a, (int)b);
    out[7] = a << (c & 31) | a >> (31 - (c & 31)), out[8] = (int)a >> (c & 31);
    out[9] = min(a, b) ^ max((int)a, (int)c), out[10] = __usad(a, b, c) + __sad(a, b, c);
    out[11] = __vabsdiffu4(a, b) ^ __vadd2(a, c) ^ __vmaxs4(b, c);
}

extern "C" __global__ void long_words(const unsigned* x, unsigned* y)
{
    OPERANDS;
    unsigned long long divisor = wb ? wb : 1;
    put(y, 8 * i, wa / divisor);
    put(y, 8 * i + 1, wa % divisor);
    put(y, 8 * i + 2, (unsigned long long)((long long)wa / 1000003));
    put(y, 8 * i + 3, (unsigned long long)((long long)wa % -977));
    put(y, 8 * i + 4, wa * wb + c);
    put(y, 8 * i + 5, __umul64hi(wa, wb));
    put(y, 8 * i + 6, (unsigned long long)__mul64hi((long long)wa, (long long)wb));
    put(y, 8 * i + 7, (wa << (c & 63)) ^ (unsigned long long)((long long)wb >> (a & 63)));
}

extern "C" __global__ void double_long_words(const unsigned* x, unsigned* y)
{
    OPERANDS;
    unsigned __int128 p = (unsigned __int128)wa * wb, q = p + ((unsigned __int128)c << 90) - wa;
    __int128 r = (__int128)(p ^ ~q) >> (c & 127);
    unsigned __int128 d = q / (wb | 1), m = q % (wa | 1);
    put(y, 8 * i, (unsigned long long)q);
    put(y, 8 * i + 1, (unsigned long long)(q >> 64));
    put(y, 8 * i + 2, (unsigned long long)r);
    put(y, 8 * i + 3, (unsigned long long)(r >> 64));
    put(y, 8 * i + 4, (unsigned long long)d);
    put(y, 8 * i + 5, (unsigned long long)(d >> 64));
    put(y, 8 * i + 6, (unsigned long long)m);
    put(y, 8 * i + 7, (unsigned long long)(r < 0) + (q > p) * 2ull);
}

extern "C" __global__ void bits(const unsigned* x, unsigned* y)
{
    OPERANDS;
    unsigned* out = y + 14 * i;
    out[0] = __popc(a), out[1] = __clz(b), out[2] = __ffs(b), out[3] = __brev(a), out[4] = __byte_perm(a, b, c & 0x7777);
    out[5] = __popcll(wa), out[6] = __clzll(wb), out[7] = __ffsll(wb), out[8] = (unsigned)(__brevll(wa) >> 5);
    out[9] = __funnelshift_l(a, b, c), out[10] = __funnelshift_r(a, b, c), out[11] = __funnelshift_lc(a, b, c & 63);
    out[12] = __dp4a((int)a, (int)b, (int)c) ^ __dp2a_lo(a, b, c), out[13] = __fns(a, c & 31, 1 + (int)(b & 3));
}

extern "C" __global__ void narrow(const unsigned* x, unsigned* y)
{
    OPERANDS;
    const char* bytes = reinterpret_cast<const char*>(x);
    const short* shorts = reinterpret_cast<const short*>(x);
    const unsigned char* unsigned_bytes = reinterpret_cast<const unsigned char*>(x);
    char p = bytes[i], q = bytes[i + 1];
    short s = shorts[i], t = shorts[i + 3];
    unsigned* out = y + 6 * i;
    out[0] = (char)(p * q), out[1] = (unsigned char)(p + q), out[2] = (short)(s * t), out[3] = (unsigned short)(s - t);
    out[4] = s / (t | 1) + p % (q | 1), out[5] = unsigned_bytes[i] << (t & 7) | (bool)(b & 4);
}

extern "C" __global__ void vectors(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    uint4 q = reinterpret_cast<const uint4*>(x)[i];
    uchar4 c = reinterpret_cast<const uchar4*>(x)[i];
    short2 s = reinterpret_cast<const short2*>(x)[i];
    longlong2 w = reinterpret_cast<const longlong2*>(x)[i];
    reinterpret_cast<uint4*>(y)[2 * i] = make_uint4(q.w, q.z ^ c.x, q.y + c.y * c.z, q.x - s.x * s.y);
    reinterpret_cast<longlong2*>(y)[2 * i + 1] = make_longlong2(w.y - w.x, w.x * c.w);
}
