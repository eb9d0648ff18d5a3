#pragma once

#include <cstdint>

namespace rill::nnef {

/// Bounds on nesting, to fit a stack of 64 KiB: a fragment takes 1.8 KiB, the deepest computation
/// 13 KiB. The exporter's fragments nest 2 levels. Limits that callers may set are in `LoadLimits`.
inline constexpr int kMaxFragmentDepth = 10;
/// The levels of an expression that are evaluated recursively. Taller ones use `eval_tall.cpp`.
inline constexpr int kLevelsAtOnce = 2;
/// The sum of such levels over nested fragments, loops and models.
inline constexpr int kMaxEvalDepth = 36;
/// The extra levels of a loop, and those of a nested model.
inline constexpr int kLevelsOfALoop = 10;
inline constexpr int kLevelsOfAModel = 11;
/// The maximum number of assertions, per symbol: each takes part in every proof.
inline constexpr int64_t kAssertionsPerSymbol = 16;
/// The maximum length of generated names, which grow with each level of fragments.
inline constexpr size_t kMaxStemBytes = 160;

}  // namespace rill::nnef
