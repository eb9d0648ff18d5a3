#pragma once

#include <cstdint>

namespace rill::nnef {

/// Bounds on what a text may unfold to; real models stay far below all of them.
inline constexpr int kMaxFragmentDepth = 64;
/// Levels of expressions under evaluation, over all fragments: bounds the stack.
inline constexpr int kMaxEvalDepth = 160;
inline constexpr int64_t kMaxNodes = int64_t{1} << 18;
/// Expressions evaluated and list elements copied: bounds the time of graphs without nodes.
inline constexpr int64_t kMaxSteps = int64_t{1} << 22;
/// A generated name is cut here; names grow with each level of fragments.
inline constexpr size_t kMaxStemBytes = 160;

}  // namespace rill::nnef
