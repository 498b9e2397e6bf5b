// $Revision: 1.266a $
// The "minimal standard" random numbers of Park and Miller (CACM 31(10), 1988), in parallel and in order.
//
// Teaches: jump-ahead. x(k) = 16807^k x(0) mod 2^31 - 1, so a thread can start anywhere by repeated squaring and the
// numbers are the serial ones, whatever the launch. Published check: with seed 1 the 10,000th number is 1043618065.

constexpr unsigned int MULTIPLIER = 16807;
constexpr unsigned int MODULUS = 2147483647;  // 2^31 - 1

/// a b mod 2^31 - 1: 64-bit product, high part folded onto the low one, since 2^31 = 1 in this ring.
__device__ unsigned int multiply(unsigned int a, unsigned int b)
{
    const unsigned long long product = static_cast<unsigned long long>(a) * b;
    const unsigned int folded = static_cast<unsigned int>(product & MODULUS) + static_cast<unsigned int>(product >> 31);
    return folded >= MODULUS ? folded - MODULUS : folded;
}

/// The number that follows x after `steps` steps.
__device__ unsigned int jump(unsigned int x, unsigned int steps)
{
    for (unsigned int power = MULTIPLIER; steps != 0; steps >>= 1) {
        if (steps & 1)
            x = multiply(x, power);
        power = multiply(power, power);
    }
    return x;
}

/// numbers[i] = the (i + 1)-th number after `seed`, for 0 <= i < n; each thread writes `run` of them in a row.
__global__ void park_miller(unsigned int* numbers, unsigned int seed, int run, int n)
{
    const int first = (blockIdx.x * blockDim.x + threadIdx.x) * run;
    unsigned int x = jump(seed, first);
    for (int i = first; i < n && i < first + run; ++i) {
        x = multiply(x, MULTIPLIER);
        numbers[i] = x;
    }
}
