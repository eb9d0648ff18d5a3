#include "emit_c/math_text.h"

namespace rill::emit_c {
namespace {

// The functions of kernels/math/functions.h as C, for one float. They select by masks, not by
// branches, so that compilers vectorise loops over them.
constexpr MathPiece kPieces[] = {
    {"bits", "", R"(static inline uint32_t @bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, 4);
  return bits;
}
static inline float @of_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, 4);
  return x;
}
)"},
    {"pick", "bits", R"(static inline float @pick(int truth, float a, float b) {
  const uint32_t mask = 0u - (uint32_t)truth;
  return @of_bits((@bits(a) & mask) | (@bits(b) & ~mask));
}
)"},
    {"min_or_second", "",
     "static inline float @min_or_second(float a, float b) { return a < b ? a : b; }\n"},
    {"max_or_second", "",
     "static inline float @max_or_second(float a, float b) { return a > b ? a : b; }\n"},
    {"magnitude", "bits",
     "static inline float @magnitude(float x) { return @of_bits(@bits(x) & 0x7fffffffu); }\n"},
    {"with_sign_of", "bits", R"(static inline float @with_sign_of(float x, float sign) {
  return @of_bits((@bits(x) & 0x7fffffffu) | (@bits(sign) & 0x80000000u));
}
)"},
    {"limited", "", R"(static inline float @limited(float x, float low, float high) {
  x = low > x ? low : x;
  return high < x ? high : x;
}
)"},
    {"round_even", "", "static inline float @round_even(float x) { return nearbyintf(x); }\n"},
    {"two_to", "bits pick", R"(static inline float @two_to(float k) {
  const int valid = (k >= -126.0f) & (k <= 127.0f);
  return @of_bits((uint32_t)((int32_t)@pick(valid, k, -127.0f) + 127) << 23);
}
)"},
    // The constants are those of functions.h, digit by digit.
    {"exp_fraction", "", R"(static inline float @exp_fraction(float x, float k) {
  float r = @madd(k, -0.69314575f, x), y = 1.9875691500e-4f;
  r = @madd(k, -1.4286068e-6f, r);
  y = @madd(y, r, 1.3981999507e-3f);
  y = @madd(y, r, 8.3334519073e-3f);
  y = @madd(y, r, 4.1665795894e-2f);
  y = @madd(y, r, 1.6666665459e-1f);
  y = @madd(y, r, 5.0000001201e-1f);
  return @madd(r * r, y, r);
}
)"},
    {"exp", "exp_fraction two_to min_or_second max_or_second round_even",
     R"(static inline float @exp(float x) {
  const float c = @min_or_second(89.0f, @max_or_second(-104.0f, x));
  const float k = @round_even(c * 1.44269504f);
  const float y = @exp_fraction(c, k) + 1.0f;
  const float half = floorf(k * 0.5f);
  return y * @two_to(half) * @two_to(k - half);
}
)"},
    {"power_parts", "bits", R"(/* e^y as 2^k and r, with `shifted` = y / ln 2 + 12583039. */
typedef struct { float scale, part, r, rest; } @power;
static inline @power @power_parts(float y, float shifted) {
  @power p;
  const float k = shifted - 12583039.0f;
  float most, exact, upper;
#if @FUSED
  most = @madd(k, -0.693147182f, y);
  exact = @madd(k, 1.90465430e-9f, most);
  p.r = most;
#else
  most = @madd(k, -0.69314575f, y);
  exact = @madd(k, -1.42860677e-6f, most);
  p.r = exact;
#endif
  p.scale = @of_bits(@bits(shifted) << 23);
  p.part = p.scale * exact;
  upper = @madd(p.r, 1.38435898e-3f, 8.37420862e-3f);
  p.rest = @madd(p.r * p.r, upper, @madd(p.r, 4.16680056e-2f, 1.66664306e-1f));
  return p;
}
static inline float @power_slope(@power p) {
  return @madd(p.r * p.r, p.rest, @madd(p.r, 4.99999942e-1f, 1.0f));
}
)"},
    {"sigmoid", "power_parts pick magnitude", R"(static inline float @sigmoid(float x) {
  const @power e = @power_parts(-x, @madd(x, -1.44269504f, 12583039.0f));
  const float y = 1.0f / @madd(e.part, @power_slope(e), 1.0f + e.scale);
  const float end = @pick(x > 0.0f, 1.0f, 0.0f);
  return @pick(@magnitude(x) >= 87.33f, end, y);
}
)"},
    {"tanh", "power_parts pick magnitude with_sign_of", R"(static inline float @tanh(float x) {
  const float size = @magnitude(x);
  const @power q = @power_parts(-2.0f * size, @madd(size, -2.88539008f, 12583039.0f));
  const float start = 1.0f - q.scale - q.part;
  const float bend = @madd(q.r, q.rest, 4.99999942e-1f);
  const float difference = @madd(-q.part * q.r, bend, start);
  const float sum = @madd(q.part, @power_slope(q), 1.0f + q.scale);
  return @with_sign_of(@pick(size > 9.1f, 1.0f, difference / sum), x);
}
)"},
    {"silu", "sigmoid max_or_second",
     "static inline float @silu(float x) { return @max_or_second(-88.0f, x) * @sigmoid(x); }\n"},
    {"log", "bits pick", R"(static inline float @log(float x) {
  const int subnormal = x < 1.17549435e-38f;
  const uint32_t bits = @bits(@pick(subnormal, x * 16777216.0f, x));
  float e = (float)((int32_t)(bits >> 23) - 127), m, z, y, tail = 7.0376836292e-2f;
  int upper;
  m = @of_bits((bits & 0x007fffffu) | 0x3f800000u);
  e = e - @pick(subnormal, 24.0f, 0.0f);
  upper = m > 1.41421356f;
  m = @pick(upper, m * 0.5f, m) - 1.0f;
  e = e + @pick(upper, 1.0f, 0.0f);
  z = m * m;
  tail = @madd(tail, m, -1.1514610310e-1f);
  tail = @madd(tail, m, 1.1676998740e-1f);
  tail = @madd(tail, m, -1.2420140846e-1f);
  tail = @madd(tail, m, 1.4249322787e-1f);
  tail = @madd(tail, m, -1.6668057665e-1f);
  tail = @madd(tail, m, 2.0000714765e-1f);
  tail = @madd(tail, m, -2.4999993993e-1f);
  tail = @madd(tail, m, 3.3333331174e-1f);
  y = m * z * tail;
  y = @madd(e, -2.12194440e-4f, y);
  y = @madd(z, -0.5f, y);
  y = @madd(e, 0.693359375f, m + y);
  y = @pick(x < INFINITY, y, x);
  y = @pick(x == 0.0f, -INFINITY, y);
  return @pick(x < 0.0f, NAN, y);
}
)"},
    {"log1p", "log", R"(static inline float @log1p(float x) {
  const float sum = 1.0f + x;
  const float whole = @log(sum);
  const float y = whole + (x - (sum - 1.0f)) / sum;
  const float inner = @pick(sum < INFINITY, y, whole);
  return @pick(sum == 1.0f, x, @pick(sum > 0.0f, inner, whole));
}
)"},
    {"expm1", "exp_fraction two_to min_or_second max_or_second round_even with_sign_of",
     R"(static inline float @expm1(float x) {
  const float c = @min_or_second(89.0f, @max_or_second(-87.0f, x));
  const float k = @round_even(c * 1.44269504f);
  const float half = floorf(k * 0.5f);
  const float scale = @two_to(half);
  const float y = @madd(@exp_fraction(c, k), scale, scale - @two_to(half - k));
  return @with_sign_of(y * @two_to(k - half), x);
}
)"},
    {"softplus", "exp log magnitude max_or_second", R"(static inline float @softplus(float x) {
  const float power = @exp(-@magnitude(x));
  const float sum = 1.0f + power;
  const float rest = @log(sum) + (power - (sum - 1.0f)) / sum;
  return @max_or_second(0.0f, x) + rest;
}
)"},
    {"hypot", "pick magnitude max_or_second", R"(static inline float @hypot(float a, float b) {
  const float most = @max_or_second(@magnitude(a), @magnitude(b));
  const int large = most > 1152921504606846976.0f, small = most < 8.8817841970012523e-16f;
  const float down = 8.470329472543003e-22f, up = 1180591620717411303424.0f;
  const float scale = @pick(large, down, @pick(small, up, 1.0f));
  const float p = a * scale, q = b * scale;
  return sqrtf(p * p + q * q) * @pick(large, up, @pick(small, down, 1.0f));
}
)"},
    {"erf", "magnitude min_or_second with_sign_of", R"(static inline float @erf(float x) {
  const float t = @min_or_second(4.0f, @magnitude(x));
  float y = 0.0000430638f, s;
  y = @madd(y, t, 0.0002765672f);
  y = @madd(y, t, 0.0001520143f);
  y = @madd(y, t, 0.0092705272f);
  y = @madd(y, t, 0.0422820123f);
  y = @madd(y, t, 0.0705230784f);
  s = t * y;
  s = @madd(s, s, s + s);
  s = @madd(s, s, s + s);
  s = @madd(s, s, s + s);
  s = @madd(s, s, s + s);
  return @with_sign_of(s / (1.0f + s), x);
}
)"},
    {"gelu_approx", "tanh max_or_second", R"(static inline float @gelu_approx(float x) {
  const float cubed = x * x * x;
  const float inner = 0.79788456f * @madd(0.044715f, cubed, x);
  return 0.5f * @max_or_second(-6.0f, x) * (1.0f + @tanh(inner));
}
)"},
    {"round", "magnitude pick with_sign_of", R"(static inline float @round(float x) {
  const float a = @magnitude(x);
  const float down = floorf(a);
  return @with_sign_of(@pick(a - down >= 0.5f, down + 1.0f, down), x);
}
)"},
    {"sign", "pick", R"(static inline float @sign(float x) {
  return @pick(x > 0.0f, 1.0f, @pick(x < 0.0f, -1.0f, x + 0.0f));
}
)"},
    {"leaky_relu", "pick", R"(static inline float @leaky_relu(float x, float alpha) {
  return @pick(x < 0.0f, x * alpha, x);
}
)"},
    {"hard_swish", "min_or_second max_or_second", R"(static inline float @hard_swish(float x) {
  const float y = @min_or_second(6.0f, @max_or_second(0.0f, x + 3.0f));
  return x * (y * (1.0f / 6.0f));
}
)"},
    {"min", "min_or_second pick",
     "static inline float @min(float a, float b) { return @pick(b == b, @min_or_second(b, a), b); "
     "}\n"},
    {"max", "max_or_second pick",
     "static inline float @max(float a, float b) { return @pick(b == b, @max_or_second(b, a), b); "
     "}\n"},
    {"min_number", "min_or_second pick", R"(static inline float @min_number(float a, float b) {
  return @pick(b == b, @min_or_second(a, b), a);
}
)"},
    {"max_number", "max_or_second pick", R"(static inline float @max_number(float a, float b) {
  return @pick(b == b, @max_or_second(a, b), a);
}
)"},
};

}  // namespace

std::span<const MathPiece> math_pieces() { return kPieces; }

}  // namespace rill::emit_c
