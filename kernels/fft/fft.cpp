#include "kernels/fft/fft.h"

#include <cmath>

#include "kernels/fft/fft_impl.h"

// Handwritten, so that the bits of a transform do not depend on other transforms of the same call,
// `prepare` makes its tables, and a step allocates nothing.

namespace rill::kernels {
namespace {

constexpr double kPi = 3.14159265358979323846;

/// Compute exp(-2 pi i k / n), k < n, from an angle of at most pi / 4.
void unit_root(int64_t k, int64_t n, double* re, double* im) {
  const int64_t eighths = 8 * (k % n) / n;
  // The angle to the nearest multiple of pi / 2, exact as a fraction of n.
  const int64_t quarter = (eighths + 1) / 2;
  const double angle =
      2.0 * kPi * static_cast<double>(4 * (k % n) - quarter * n) / (4.0 * static_cast<double>(n));
  const double c = std::cos(angle), s = std::sin(angle);
  switch (quarter % 4) {
    case 0:
      *re = c, *im = -s;
      break;
    case 1:
      *re = -s, *im = -c;
      break;
    case 2:
      *re = -c, *im = s;
      break;
    default:
      *re = s, *im = c;
      break;
  }
}

/// Factor n into the radices; false if a larger prime remains.
bool factor(int64_t n, FftPasses* passes) {
  passes->n = n;
  passes->count = 0;
  // Radix 4 first: the passes with few interleaved transforms store groups of four lanes.
  constexpr int kRadices[] = {4, 5, 3, 2};
  for (int radix : kRadices) {
    for (; n % radix == 0; n /= radix) {
      passes->radix[passes->count++] = static_cast<int8_t>(radix);
    }
  }
  return n == 1;
}

int64_t padded_size(int64_t n) {
  int64_t m = 1;
  while (m < 2 * n - 1) m *= 2;
  return m;
}

int64_t twiddle_floats(const FftPasses& passes) {
  int64_t total = 0, s = 1;
  for (int i = 0; i < passes.count; ++i) {
    const int radix = passes.radix[i];
    total += fft_pass_floats(radix, s, passes.n / (s * radix));
    s *= radix;
  }
  return total;
}

void fill_twiddles(const FftPasses& passes, float* w) {
  int64_t s = 1;
  for (int i = 0; i < passes.count; ++i) {
    const int radix = passes.radix[i];
    const int64_t m = passes.n / (s * radix);
    for (int64_t p = 0; p < m; ++p) {
      for (int64_t k = 1; k < radix; ++k) {
        double re, im;
        unit_root(p * k, radix * m, &re, &im);
        if (s >= kFftWide) {
          w[2 * (p * (radix - 1) + k - 1)] = static_cast<float>(re);
          w[2 * (p * (radix - 1) + k - 1) + 1] = static_cast<float>(im);
          continue;
        }
        for (int64_t q = 0; q < s; ++q) {
          w[2 * s * m * (k - 1) + q + s * p] = static_cast<float>(re);
          w[2 * s * m * (k - 1) + s * m + q + s * p] = static_cast<float>(im);
        }
      }
    }
    w += fft_pass_floats(radix, s, m);
    s *= radix;
  }
}

/// Transform m points in place in double precision, m a power of two.
void fft_double(double* re, double* im, int64_t m) {
  for (int64_t i = 1, j = 0; i < m; ++i) {
    int64_t bit = m / 2;
    for (; (j & bit) != 0; bit /= 2) j ^= bit;
    j ^= bit;
    if (i >= j) continue;
    const double r = re[i], v = im[i];
    re[i] = re[j], im[i] = im[j];
    re[j] = r, im[j] = v;
  }
  for (int64_t len = 2; len <= m; len *= 2) {
    for (int64_t k = 0; k < len / 2; ++k) {
      double wr, wi;
      unit_root(k, len, &wr, &wi);
      for (int64_t a = k; a < m; a += len) {
        const int64_t b = a + len / 2;
        const double r = re[b] * wr - im[b] * wi, v = re[b] * wi + im[b] * wr;
        re[b] = re[a] - r, im[b] = im[a] - v;
        re[a] += r, im[a] += v;
      }
    }
  }
}

/// Fill the chirp and the spectrum of its conjugate; `work` holds 2 m doubles.
void fill_bluestein(int64_t n, int64_t m, float* chirp, float* spectrum, double* work) {
  double* const re = work;
  double* const im = work + m;
  for (int64_t i = 0; i < m; ++i) re[i] = im[i] = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    double c, s;
    unit_root(i * i % (2 * n), 2 * n, &c, &s);
    chirp[i] = static_cast<float>(c);
    chirp[n + i] = static_cast<float>(s);
    re[i] = re[(m - i) % m] = c;
    im[i] = im[(m - i) % m] = -s;
  }
  fft_double(re, im, m);
  for (int64_t i = 0; i < m; ++i) {
    spectrum[i] = static_cast<float>(re[i] / static_cast<double>(m));
    spectrum[m + i] = static_cast<float>(im[i] / static_cast<double>(m));
  }
}

constexpr FftF32 kKernels[] = {
#define RILL_KERNEL(needs, suffix) \
  {"fft_f32_" #suffix, Tier::needs, fft_f32_##suffix, rfft_f32_##suffix},
#include "kernels/fft/kernels.inc"
#undef RILL_KERNEL
};

bool halved(int64_t n, FftKind kind) { return kind == FftKind::kReal && n % 2 == 0; }

}  // namespace

KernelList<FftF32> kernels_like(const FftF32*) { return kKernels; }

size_t fft_tables_floats(int64_t n, FftKind kind) noexcept {
  const int64_t size = halved(n, kind) ? n / 2 : n;
  int64_t total = halved(n, kind) ? 2 * (size + 1) : 0;
  FftPasses passes;
  if (!factor(size, &passes)) {
    const int64_t m = padded_size(size);
    factor(m, &passes);
    total += 2 * size + 2 * m + 4 * m + 1;  // includes 2 m aligned doubles of scratch
  }
  return static_cast<size_t>(total + twiddle_floats(passes));
}

namespace {

/// Return a plan with the sizes and the offsets of its tables, in floats.
FftPlan laid_out(int64_t n, FftKind kind) {
  FftPlan plan = {};
  plan.n = n;
  plan.size = halved(n, kind) ? n / 2 : n;
  plan.bluestein = !factor(plan.size, &plan.passes);
  if (plan.bluestein) factor(padded_size(plan.size), &plan.passes);
  int64_t at = twiddle_floats(plan.passes);
  if (halved(n, kind)) {
    plan.real_twiddle = at;
    at += 2 * (plan.size + 1);
  }
  if (plan.bluestein) {
    plan.chirp = at;
    plan.spectrum = at + 2 * plan.size;
  }
  return plan;
}

}  // namespace

void fft_init(FftPlan* plan, int64_t n, FftKind kind, float* tables, Tier cpu) noexcept {
  *plan = laid_out(n, kind);
  plan->passes.twiddles = tables;
  fill_twiddles(plan->passes, tables);
  if (halved(n, kind)) {
    const int64_t count = plan->size + 1;
    float* const twiddle = tables + plan->real_twiddle;
    for (int64_t k = 0; k < count; ++k) {
      double re, im;
      unit_root(k, n, &re, &im);
      twiddle[k] = static_cast<float>(re);
      twiddle[count + k] = static_cast<float>(im);
    }
  }
  if (plan->bluestein) {
    const int64_t m = plan->passes.n;
    float* const spectrum = tables + plan->spectrum;
    float* work = spectrum + 2 * m;
    if (reinterpret_cast<uintptr_t>(work) % alignof(double) != 0) ++work;
    fill_bluestein(plan->size, m, tables + plan->chirp, spectrum, reinterpret_cast<double*>(work));
  }
  plan->kernel = &kernels_like(plan->kernel).best(cpu);
}

bool fft_is_plan(const FftPlan& plan, int64_t n, FftKind kind) noexcept {
  const FftPlan own = laid_out(n, kind);
  bool same = plan.n == own.n && plan.size == own.size && plan.bluestein == own.bluestein &&
              plan.chirp == own.chirp && plan.spectrum == own.spectrum &&
              plan.real_twiddle == own.real_twiddle && plan.passes.n == own.passes.n &&
              plan.passes.count == own.passes.count;
  for (int i = 0; same && i < own.passes.count; ++i) {
    same = plan.passes.radix[i] == own.passes.radix[i];
  }
  return same;
}

size_t fft_scratch_floats(const FftPlan& plan) noexcept {
  const int64_t frame = 2 * (plan.n + 1 + 2 * kFftPad);
  return static_cast<size_t>(frame + (plan.bluestein ? 6 : 4) * plan.passes.n);
}

void fft_f32_scalar(const FftPlan& plan, const float* re, const float* im, float* out_re,
                    float* out_im, float* scratch) noexcept {
  fft_complex<math::ScalarLane>(plan, re, im, out_re, out_im, scratch);
}

void rfft_f32_scalar(const FftPlan& plan, const float* x, const float* window, float* out_re,
                     float* out_im, int64_t bins, float* scratch) noexcept {
  fft_real<math::ScalarLane>(plan, x, window, out_re, out_im, bins, scratch);
}

}  // namespace rill::kernels
