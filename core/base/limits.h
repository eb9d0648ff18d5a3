#pragma once

#include <cstddef>
#include <cstdint>

namespace rill {

// Bounds on what a file or a caller may ask for; real models stay far below them. Bounds that one
// algorithm has are in its file, and limits that callers may set in `LoadLimits` and
// `plan_file::Limits`. The lint doc_numbers compares docs/reliability.md with all of them.

/// Axes of a tensor.
inline constexpr int kMaxRank = 8;
/// Elements of a tensor. Their bytes fit in 64 bits for every type.
inline constexpr int64_t kMostElements = int64_t{1} << 56;
/// Bytes of a buffer, and of all buffers: more than any machine has.
inline constexpr int64_t kMostMemoryBytes = int64_t{1} << 44;

/// Frames of a stream, a delay or edge padding. Sums and differences of several such numbers stay
/// in range, and so does a product with a stride.
inline constexpr int64_t kMostFrames = int64_t{1} << 40;
/// The position of a session in its stream: 90 years at 48 kHz. Positions on wires are products
/// with the frames of a step.
inline constexpr int64_t kMostPosition = int64_t{1} << 47;
/// Bytes of the queues of a session that is pushed.
inline constexpr int64_t kMostQueueBytes = int64_t{1} << 40;
/// The largest pulse, in the stream symbol, and frames of one call.
inline constexpr int64_t kMostPulse = int64_t{1} << 31;
/// Steps of delay between an output of a compiled model and its input.
inline constexpr int64_t kMostLateSteps = int64_t{1} << 22;
/// Steps after the last frame of a stream.
inline constexpr int64_t kMostTailSteps = int64_t{1} << 23;

/// Depth of nested functions in an expression, and the bytes of its text.
inline constexpr int kMaxDimDepth = 24;
inline constexpr size_t kMostDimText = size_t{1} << 14;
/// Depth of nested loops in a compiled model; their steps call each other to this depth.
inline constexpr int kMaxLoopDepth = 16;
/// Depth of nested graphs and functions in an ONNX file.
inline constexpr int kMaxGraphDepth = 12;

}  // namespace rill
