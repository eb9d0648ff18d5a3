#pragma once

// Loops of worked cases, as NNEF text.

#include <string>

#include "tests/property/streaming.h"

namespace rill::test {

inline constexpr char kLoops[] =
    "fragment pairs(h: tensor<scalar>, a: tensor<scalar>) -> (h_t: tensor<scalar>, o: "
    "tensor<scalar>) {\n"
    "  h_t = 0.5 * h + sum_reduce(a, axes = [2]);\n  o = a * h_t;\n}\n"
    "fragment mixed(h: tensor<scalar>, a: tensor<scalar>, b: tensor<scalar>) -> (h_t: "
    "tensor<scalar>) {\n  h_t = 0.5 * h + sum_reduce(a, axes = [2]) * b;\n}\n"
    "fragment leaky(h: tensor<scalar>, a: tensor<scalar>) -> (h_t: tensor<scalar>) {\n"
    "  h_t = 0.5 * h + a;\n}\n"
    "fragment sru(c: tensor<scalar>, x: tensor<scalar>, f: tensor<scalar>, r: tensor<scalar>, "
    "skip: tensor<scalar>) -> (c_t: tensor<scalar>, h_t: tensor<scalar>) {\n"
    "  c_t = f * c + (1.0 - f) * x;\n  h_t = r * tanh(c_t) + (1.0 - r) * skip;\n}\n";

/// Return a document over x of that shape; y is the result of a loop over `body`.
inline std::string loop(const std::string& shape, const std::string& scan,
                        const std::string& state, const std::string& output,
                        const std::string& body, const std::string& before = "") {
  return document(shape,
                  before + "  y = tract_core_scan(body = '" + body + "', scan = [" + scan +
                      "], full = [], state = [" + state + "], output = [" + output +
                      "], skip = 0);\n",
                  "y", kLoops);
}

}  // namespace rill::test
