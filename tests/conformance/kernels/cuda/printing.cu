// printf with every conversion that CUDA knows (no hh, and no precision *, which stands as it is); one thread, so that the order is the same everywhere. All run with: grid 1, block 1
#include <stdio.h>

extern "C" __global__ void formats(const unsigned* x, unsigned* y)
{
    printf("%d %i %u %x %X %o %c %%\n", -5, 7, 4000000000u, 48879, 48879, 8, 'q');
    printf("[%8d][%-8d][%08d][%+d][% d][%#x][%#o]\n", 42, 42, 42, 42, 42, 255, 8);
    printf("%lld %llu %llx %ld %hd\n", -1234567890123ll, 12345678901234567890ull, 0xdeadbeefcafell, 77l, (short)-3);
    printf("%f %e %g %G %E %a\n", 3.25, 12345.678, 1e-7, 1e20, -0.5, 1.0);
    printf("[%10.3f][%-10.2e][%+.0f][%010.4f][%.10g]\n", 3.14159265, 2.71828, 2.5, -1.5, 1.0 / 3.0);
    printf("%s [%10s] [%-6s] [%.2s]\n", "plain", "right", "left", "cut");
    printf("%f %f %f\n", 1.0 / 0.0, -1.0 / 0.0, 0.0 / 0.0 > 0 ? 1.0 : 0.0);
    printf("[%*d] [%.*f]\n", 6, 42, 2, 3.14159);
    printf("no arguments\n");
    y[0] = printf("%d\n", (int)(x[0] & 1));
    y[1] = printf("none\n");
}
