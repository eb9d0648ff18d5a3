#pragma once

#include <cstdint>
#include <memory>

namespace rill::kernels {

/// A product of oneDNN with a constant B in the order that it prefers, on one thread.
class OnednnMatmul {
 public:
  enum class Type : uint8_t { kF32, kBf16 };

  /// Shapes: a [m, k], b [k, n], c [m, n], all f32, rows dense. kBf16 rounds a and b, and a in
  /// every run.
  OnednnMatmul(Type type, int64_t m, int64_t k, int64_t n, float* a, float* b, float* c);
  ~OnednnMatmul();
  OnednnMatmul(const OnednnMatmul&) = delete;
  OnednnMatmul& operator=(const OnednnMatmul&) = delete;

  void run();
  /// Name the implementation that oneDNN chose.
  const char* name() const;

 private:
  struct Primitives;
  std::unique_ptr<Primitives> primitives_;
};

}  // namespace rill::kernels
