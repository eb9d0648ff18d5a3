#pragma once

#include <cstdint>

namespace rill::nnef {

/// Bounds on nesting, which a stack of 64 KiB must hold: a fragment takes 1.8 KiB, the deepest
/// computation 13 KiB. The exporter's fragments nest 2 levels. Limits that callers may set are in
/// `LoadLimits`.
inline constexpr int kMaxFragmentDepth = 10;
/// Levels of an expression that are evaluated by calls within calls. A taller one is evaluated part
/// by part.
inline constexpr int kLevelsAtOnce = 2;
/// Such levels over all fragments, loops and models.
inline constexpr int kMaxEvalDepth = 36;
/// Levels that a loop takes in addition to its call, and those of a nested model.
inline constexpr int kLevelsOfALoop = 10;
inline constexpr int kLevelsOfAModel = 11;
/// Every assertion takes part in every proof.
inline constexpr int64_t kAssertionsPerSymbol = 16;
/// A generated name is cut here; names grow with each level of fragments.
inline constexpr size_t kMaxStemBytes = 160;

}  // namespace rill::nnef
