#pragma once

#include <cmath>
#include <cstdint>

namespace rill::ops {

/// A line of complex numbers in memory; `step` counts elements. `im` may be null, for zeros.
template <class T>
struct ComplexLine {
  T* re = nullptr;
  T* im = nullptr;
  int64_t step = 1;
};

/// Transform `points` samples into the first `bins` bins by the definition, in double: the
/// reference implementation. `weight(i)` multiplies sample i. Not normalised.
template <class Weight>
void dft(const ComplexLine<const float>& x, int64_t points, bool inverse,
         const ComplexLine<float>& y, int64_t bins, const Weight& weight) {
  const double turn = (inverse ? 2 : -2) * 3.14159265358979323846 / static_cast<double>(points);
  for (int64_t bin = 0; bin < bins; ++bin) {
    double re = 0;
    double im = 0;
    for (int64_t i = 0; i < points; ++i) {
      const double angle = turn * static_cast<double>(bin * i % points);
      const double c = std::cos(angle);
      const double s = std::sin(angle);
      const double a = x.re[i * x.step] * weight(i);
      const double b = x.im ? x.im[i * x.step] * weight(i) : 0.0;
      re += a * c - b * s;
      im += a * s + b * c;
    }
    y.re[bin * y.step] = static_cast<float>(re);
    y.im[bin * y.step] = static_cast<float>(im);
  }
}

}  // namespace rill::ops
