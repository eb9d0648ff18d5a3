#pragma once

namespace rill::kernels {
namespace {

/// Compute a * b + c as the scalar tier of this platform does: rounded once, as the vector tiers do
/// that have the instruction. WebAssembly has none, and rounds twice: a fused one would be a call
/// into a library of some hundred instructions.
inline float mul_add(float a, float b, float c) {
#ifdef __wasm__
  return a * b + c;
#else
  return __builtin_fmaf(a, b, c);
#endif
}

}  // namespace
}  // namespace rill::kernels
