#include "kernels/reach/machine.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

#if defined(__x86_64__)
// GCC 12 warns about lanes that its own header leaves uninitialised.
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>
#endif

namespace rill::kernels {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLinks = 2000;  // per chain and call
constexpr int kChains = 12;   // enough to hide the latency, few enough for 16 registers

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Makes the compiler treat a value as used.
template <class T>
void use(T& value) {
  asm volatile("" : "+m"(value) : : "memory");
}

/// Run kChains independent chains of kLinks multiply-adds; return a value that depends on all of
/// them.
float scalar_chains(float x, float y) {
  float acc[kChains];
  for (int c = 0; c < kChains; ++c) acc[c] = x + float(c);
  for (int i = 0; i < kLinks; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) acc[c] = __builtin_fmaf(acc[c], x, y);
  }
  return acc[0] + acc[kChains - 1];
}

/// Sum the words of memory in eight independent chains.
uint64_t scalar_read(const std::byte* from, int64_t bytes) {
  const auto* words = reinterpret_cast<const uint64_t*>(from);
  uint64_t sums[8] = {};
  for (int64_t i = 0; i < bytes / 8; i += 8) {
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) sums[k] += words[i + k];
  }
  uint64_t sum = 0;
  for (const uint64_t part : sums) sum += part;
  return sum;
}

#if defined(__x86_64__)
#define RILL_CHAINS(name, isa, Vector, set1, madd, first)                                       \
  __attribute__((target(isa))) float name(float x, float y) {                                   \
    const Vector vx = set1(x), vy = set1(y);                                                    \
    Vector acc[kChains];                                                                        \
    for (int c = 0; c < kChains; ++c) acc[c] = set1(x + float(c));                              \
    for (int i = 0; i < kLinks; ++i) {                                                          \
      _Pragma("GCC unroll 12") for (int c = 0; c < kChains; ++c) acc[c] = madd(acc[c], vx, vy); \
    }                                                                                           \
    float sum = 0.0f;                                                                           \
    for (int c = 0; c < kChains; ++c) sum += first(acc[c]);                                     \
    return sum;                                                                                 \
  }
#define RILL_MUL_ADD(a, b, c) _mm_add_ps(_mm_mul_ps(a, b), c)
RILL_CHAINS(sse42_chains, "sse4.2", __m128, _mm_set1_ps, RILL_MUL_ADD, _mm_cvtss_f32)
RILL_CHAINS(avx2_chains, "avx2,fma", __m256, _mm256_set1_ps, _mm256_fmadd_ps, _mm256_cvtss_f32)
RILL_CHAINS(avx512_chains, "avx512f", __m512, _mm512_set1_ps, _mm512_fmadd_ps, _mm512_cvtss_f32)
#undef RILL_CHAINS
#undef RILL_MUL_ADD

#define RILL_READ(name, isa, Vector, load, zero, both, first)                         \
  __attribute__((target(isa))) uint64_t name(const std::byte* from, int64_t bytes) {  \
    Vector sums[8];                                                                   \
    for (int k = 0; k < 8; ++k) sums[k] = zero();                                     \
    constexpr int64_t kWide = sizeof(Vector);                                         \
    for (int64_t i = 0; i < bytes; i += 8 * kWide) {                                  \
      _Pragma("GCC unroll 8") for (int k = 0; k < 8; ++k) sums[k] =                   \
          both(sums[k], load(reinterpret_cast<const Vector*>(from + i + k * kWide))); \
    }                                                                                 \
    for (int k = 1; k < 8; ++k) sums[0] = both(sums[0], sums[k]);                     \
    return static_cast<uint64_t>(first(sums[0]));                                     \
  }
#define RILL_FIRST256(v) _mm_cvtsi128_si64(_mm256_castsi256_si128(v))
#define RILL_FIRST512(v) _mm_cvtsi128_si64(_mm512_castsi512_si128(v))
RILL_READ(avx2_read, "avx2", __m256i, _mm256_load_si256, _mm256_setzero_si256, _mm256_or_si256,
          RILL_FIRST256)
RILL_READ(avx512_read, "avx512f", __m512i, _mm512_load_si512, _mm512_setzero_si512, _mm512_or_si512,
          RILL_FIRST512)
#undef RILL_READ
#undef RILL_FIRST256
#undef RILL_FIRST512
#endif

struct Chains {
  float (*run)(float, float);
  int lanes;
};

Chains chains_of(Tier tier) {
#if defined(__x86_64__)
  if (tier == Tier::kAvx512) return {avx512_chains, 16};
  if (tier == Tier::kAvx2) return {avx2_chains, 8};
  if (tier == Tier::kSse42) return {sse42_chains, 4};
#endif
  return {scalar_chains, tier == Tier::kNeon ? 4 : 1};
}

using Read = uint64_t (*)(const std::byte* from, int64_t bytes);

Read read_of([[maybe_unused]] Tier tier) {
#if defined(__x86_64__)
  if (tier == Tier::kAvx512) return avx512_read;
  if (tier == Tier::kAvx2) return avx2_read;
#endif
  return scalar_read;
}

/// Return the sizes of the three caches, or typical ones if the system does not report them.
std::array<int64_t, 3> cache_sizes() {
  std::array<int64_t, 3> bytes = {32 << 10, 512 << 10, 4 << 20};
#ifdef _SC_LEVEL1_DCACHE_SIZE
  const int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (const long reported = sysconf(names[i]); reported > 0) bytes[i] = reported;
  }
#endif
  return bytes;
}

double read_gbytes(Read read, const std::byte* from, int64_t bytes) {
  const int64_t times = std::max<int64_t>(1, (int64_t{1} << 20) / bytes);
  double best_s = 1e9;
  const auto begin = Clock::now();
  for (int i = 0; i < 500 && (i < 4 || seconds_since(begin) < 0.1); ++i) {
    const auto start = Clock::now();
    for (int64_t k = 0; k < times; ++k) {
      uint64_t sum = read(from, bytes);
      use(sum);
    }
    best_s = std::min(best_s, seconds_since(start));
  }
  return static_cast<double>(times * bytes) / best_s * 1e-9;
}

}  // namespace

double Machine::peak(Tier tier) const {
  for (const TierPeak& peak : peaks) {
    if (peak.tier == tier) return peak.gflops;
  }
  return 0;
}

const Level& Machine::level_of(int64_t bytes) const {
  for (const Level& level : levels) {
    if (bytes <= level.bytes) return level;
  }
  return levels.back();
}

double peak_gflops(Tier tier) {
  const Chains chains = chains_of(tier);
  double best_s = 1e9;
  for (int i = 0; i < 300; ++i) {
    const auto begin = Clock::now();
    float sum = chains.run(0.999f, 0.001f);
    best_s = std::min(best_s, seconds_since(begin));
    use(sum);
  }
  return 2.0 * kLinks * kChains * chains.lanes / best_s * 1e-9;
}

Machine measure_machine() {
  Machine machine;
  for (const Tier tier : {Tier::kAvx512, Tier::kAvx2, Tier::kSse42, Tier::kNeon, Tier::kScalar}) {
    if (supports(detected_tier(), tier)) machine.peaks.push_back({tier, peak_gflops(tier)});
  }
  const std::array<int64_t, 3> sizes = cache_sizes();
  // Use half of a cache, because other data of the core needs space too; many cores share the third
  // level.
  constexpr int64_t kMost = int64_t{256} << 20;
  const int64_t tried[] = {sizes[0] / 2, sizes[1] / 2,
                           std::min(sizes[2] / 4, std::max(4 * sizes[1], int64_t{8} << 20)), kMost};
  const char* names[] = {"L1", "L2", "L3", "memory"};
  std::vector<std::byte> block(static_cast<size_t>(kMost + 64), std::byte{1});
  const auto at = reinterpret_cast<uintptr_t>(block.data());
  const std::byte* from = block.data() + (64 - at % 64) % 64;
  const Read read = read_of(detected_tier());
  for (int i = 0; i < 4; ++i) {
    const int64_t bytes = tried[i] / 4096 * 4096;
    machine.levels.push_back(
        {names[i], i < 3 ? sizes[i] : 0, bytes, read_gbytes(read, from, bytes)});
  }
  return machine;
}

}  // namespace rill::kernels
