#pragma once

#include <cstddef>
#include <cstdint>

namespace rill {

// Limits on requests of files and callers; real models stay far below them. Limits of a single
// algorithm are in its file. Limits that callers may set are in `LoadLimits` and
// `plan_file::Limits`. The lint doc_numbers compares docs/reliability.md with all of them.

/// Axes of a tensor.
inline constexpr int kMaxRank = 8;
/// Elements of a tensor. Their byte count fits in 64 bits for every type.
inline constexpr int64_t kMostElements = int64_t{1} << 56;
/// Bytes of a buffer, and of all buffers: more than the memory of any machine.
inline constexpr int64_t kMostMemoryBytes = int64_t{1} << 44;

/// Frames of a stream, a delay or edge padding. Sums and differences of several such numbers stay
/// in range, and so does a product with a stride.
inline constexpr int64_t kMostFrames = int64_t{1} << 40;
/// The position of a session in its stream: 90 years at 48 kHz. Positions on wires are this times
/// the frames per step.
inline constexpr int64_t kMostPosition = int64_t{1} << 47;
/// Bytes of the queues of a session with `push`.
inline constexpr int64_t kMostQueueBytes = int64_t{1} << 40;
/// The largest pulse, in the stream symbol, and the maximum number of frames of one call.
inline constexpr int64_t kMostPulse = int64_t{1} << 31;
/// Steps of delay between an output of a compiled model and its input.
inline constexpr int64_t kMostLateSteps = int64_t{1} << 22;
/// Steps after the last frame of a stream.
inline constexpr int64_t kMostTailSteps = int64_t{1} << 23;

/// Depth of nested functions in an expression, and bytes of its text.
inline constexpr int kMaxDimDepth = 24;
inline constexpr size_t kMostDimText = size_t{1} << 14;
/// Depth of nested loops in a compiled model; the recursion of their steps has this depth.
inline constexpr int kMaxLoopDepth = 16;
/// Depth of nested graphs and functions in an ONNX file.
inline constexpr int kMaxGraphDepth = 12;

}  // namespace rill
