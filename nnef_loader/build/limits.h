#pragma once

#include <cstdint>

namespace rill::nnef {

/// Bounds on nesting, which the stack has to hold, of a thread with 128 KiB: a level takes 1.7 KiB,
/// what is computed at the deepest 10 KiB. Polynomials of the exporter nest 20 levels. What callers
/// may set is in `LoadLimits`.
inline constexpr int kMaxFragmentDepth = 24;
/// Levels of expressions under evaluation, over all fragments: bounds the stack.
inline constexpr int kMaxEvalDepth = 40;
/// Levels that a loop takes beside the call of it, and a model in a model.
inline constexpr int kLevelsOfALoop = 10;
inline constexpr int kLevelsOfAModel = 11;
/// Every assertion takes part in every proof.
inline constexpr int64_t kAssertionsPerSymbol = 16;
/// A generated name is cut here; names grow with each level of fragments.
inline constexpr size_t kMaxStemBytes = 160;

}  // namespace rill::nnef
