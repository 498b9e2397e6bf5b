// cuda/std, the C++ standard library on the device. All run with: grid 4, block 128
#include <cuda/std/algorithm>
#include <cuda/std/array>
#include <cuda/std/atomic>
#include <cuda/std/bit>
#include <cuda/std/bitset>
#include <cuda/std/chrono>
#include <cuda/std/complex>
#include <cuda/std/cstdint>
#include <cuda/std/functional>
#include <cuda/std/limits>
#include <cuda/std/numeric>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/utility>
#include <cuda/std/variant>

#include "values.cuh"

namespace std_ = cuda::std;

extern "C" __global__ void containers(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    std_::array<unsigned, 8> words;
    for (int k = 0; k < 8; ++k) words[k] = x[8 * i + k];
    std_::tuple<int, float, unsigned> triple(i, unit(x[i]), x[i]);
    auto [a, b, c] = triple;
    std_::optional<unsigned> maybe;
    if (x[i] & 1) maybe = x[i] >> 1;
    std_::pair<unsigned, unsigned> two = std_::minmax(words[0], words[1]);
    std_::span<unsigned> part(words.data() + 2, 3);
    std_::variant<int, float> either = i & 1 ? std_::variant<int, float>(i) : std_::variant<int, float>(0.5f);
    std_::bitset<40> set(x[i]);
    unsigned* out = y + 8 * i;
    out[0] = std_::accumulate(words.begin(), words.end(), 0u);
    out[1] = a + c + __float_as_uint(b);
    out[2] = maybe.value_or(17);
    out[3] = two.first ^ two.second * 3;
    out[4] = part.back() + (unsigned)part.size();
    out[5] = std_::visit([](auto v) { return (unsigned)(v * 4); }, either);
    out[6] = (unsigned)set.count() + set.test(7);
    out[7] = std_::get<2>(std_::tuple_cat(triple, std_::make_tuple(1))) & 255;
}

extern "C" __global__ void algorithms(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    unsigned words[16];
    for (int k = 0; k < 16; ++k) words[k] = x[8 * i + k] % 1000;
    unsigned* out = y + 8 * i;
    std_::reverse(words, words + 16);
    std_::swap(words[3], words[9]);
    out[0] = std_::inner_product(words, words + 8, words + 8, 0u);
    out[1] = (unsigned)(std_::max_element(words, words + 16) - words);
    out[2] = std_::gcd(words[0], words[1]) + std_::lcm(words[2] % 50, 1 + words[3] % 50);
    out[3] = std_::popcount(x[i]) + std_::countl_zero(x[i] | 1) + std_::bit_ceil(words[4]);
    out[4] = std_::rotl(x[i], 5) ^ std_::bit_cast<unsigned>(unit(x[i]));
    out[5] = (unsigned)std_::count_if(words, words + 16, [](unsigned w) { return w < 500; });
    std_::partial_sum(words, words + 16, words);
    out[6] = words[15] + *std_::lower_bound(words, words + 16, 3000u) * (words[15] >= 3000u);
    out[7] = std_::midpoint(words[2], words[7]) + std_::clamp((int)words[0] - 400, -100, 100);
}

extern "C" __global__ void complex(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    std_::complex<float> z(unit(x[i]) * 4 - 2, unit(x[i + 1024]) * 4 - 2), w(0.5f, unit(x[i + 2048]));
    std_::complex<float> results[] = {z * w, z / w, std_::exp(z), std_::sqrt(z), std_::log(z), std_::sin(z), std_::pow(z, w), std_::conj(z) - w};
    for (int k = 0; k < 8; ++k) {
        y[18 * i + 2 * k] = __float_as_uint(results[k].real());
        y[18 * i + 2 * k + 1] = __float_as_uint(results[k].imag());
    }
    y[18 * i + 16] = __float_as_uint(std_::abs(z));
    y[18 * i + 17] = __float_as_uint(std_::arg(z) + std_::norm(w));
}

extern "C" __global__ void limits(const unsigned* x, unsigned* y)
{
    int i = thread_of_grid();
    y[3 * i] = __float_as_uint(std_::numeric_limits<float>::denorm_min() * (float)(x[i] & 7));
    y[3 * i + 1] = std_::numeric_limits<int>::max() - (int)(x[i] & 7);
    y[3 * i + 2] = (unsigned)std_::chrono::duration_cast<std_::chrono::milliseconds>(std_::chrono::seconds(x[i] & 15)).count();
}
