#pragma once

// Shared by the writers of random models: numbers, lists, and the loop of a GRU.

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "core/base/text.h"

namespace rill::test {

/// The exporter's loop of a single-layer GRU.
inline constexpr char kGruLoop[] = R"(fragment gru_loop(
    h: tensor<scalar>, r_x: tensor<scalar>, z_x: tensor<scalar>, n_x: tensor<scalar>,
    W_r: tensor<scalar>, W_z: tensor<scalar>, W_n: tensor<scalar>, b_n: tensor<scalar>
) -> (h_t: tensor<scalar>) {
  r_t = sigmoid(r_x + matmul(h, W_r, transposeB = true));
  z_t = sigmoid(z_x + matmul(h, W_z, transposeB = true));
  n_t = tanh(n_x + r_t * (matmul(h, W_n, transposeB = true) + b_n));
  h_t = (1.0 - z_t) * n_t + z_t * h;
}
)";

/// Format `count` thousandths; 0.001 for 0, because a weight of 0 hides its input.
inline std::string thousandths(int64_t count) {
  char buffer[32];
  const auto shown = static_cast<double>(count == 0 ? 1 : count);
  std::snprintf(buffer, sizeof buffer, "%.3f", shown / 1000.0);
  return buffer;
}

/// The joined parts of a statement. Braces around the parts fix their order of evaluation, so that
/// every compiler writes the same graph from one seed.
struct Statement {
  template <class... Parts>
  Statement(const Parts&... parts) : text(str_cat(parts...)) {}  // NOLINT(*-explicit-constructor)
  std::string text;
};

/// A nested list of this shape, with each number drawn independently.
template <class Draw>
std::string nested_list(std::vector<int64_t> shape, const Draw& draw) {
  if (shape.empty()) return draw();
  const int64_t extent = shape[0];
  shape.erase(shape.begin());
  std::string out = "[";
  for (int64_t i = 0; i < extent; ++i) out += (i == 0 ? "" : ", ") + nested_list(shape, draw);
  return out + "]";
}

}  // namespace rill::test
