#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "core/base/list.h"
#include "core/base/nonblocking.h"
#include "core/run/clock.h"
#include "core/run/extent.h"
#include "core/run/pool.h"
#include "core/tensor/view.h"

namespace rill {

/// An address in a session's memory: a buffer and a byte offset.
struct Ref {
  uint32_t buffer = 0;
  int64_t offset = 0;
};

/// A view with an address in a session's memory instead of a pointer.
struct PlacedView {
  DType dtype = DType::kF32;
  QParams q;
  int rank = 0;
  std::array<int64_t, kMaxRank> shape{};
  std::array<int64_t, kMaxRank> stride{};  ///< in elements
  Ref ref;

  int64_t extent(int axis) const { return shape[static_cast<size_t>(axis)]; }
  int64_t step(int axis) const { return stride[static_cast<size_t>(axis)]; }
  /// Return the view with its elements at `data`.
  View at(void* data) const {
    View view;
    view.dtype = dtype;
    view.q = q;
    view.rank = rank;
    view.shape = shape;
    view.stride = stride;
    view.data = data;
    return view;
  }
  int64_t volume() const RILL_NONBLOCKING;
  bool contiguous() const RILL_NONBLOCKING;
  /// Move the start by `elements` along an axis.
  void advance(int axis, int64_t elements) {
    ref.offset += elements * step(axis) * dtype_size(dtype);
  }
};

/// The environment of a running step: the base pointer of every buffer, and the clock of the
/// stream.
struct Frame {
  std::byte** base = nullptr;
  const StreamClock* clock = nullptr;
  std::string_view symbol;            ///< empty if there is no stream symbol
  const Pool* pool = nullptr;         ///< threads that steps may use; null if there are none
  std::byte* part_scratch = nullptr;  ///< one block per part after the first, contiguous
  int64_t part_scratch_bytes = 0;     ///< bytes of one block

  template <class T>
  T* ptr(const Ref& ref) const {
    return reinterpret_cast<T*>(base[ref.buffer] + ref.offset);
  }
  /// Return the view of an operand. Not inlined: compilers that optimise for size copy the extents
  /// with slow string instructions.
  View view(const PlacedView& placed) const RILL_NONBLOCKING;
  /// Return the value of the stream symbol, or 0 until the end is known; nothing without a symbol.
  std::optional<int64_t> symbol_value() const {
    if (symbol.empty()) return std::nullopt;
    return std::max<int64_t>(0, clock->end);
  }
};

/// The share of a step's work that one call runs.
struct Share {
  int64_t begin = 0;  ///< units of work [begin, end)
  int64_t end = 0;
  std::byte* scratch = nullptr;  ///< scratch memory of this part alone, aligned to 64 bytes
};

struct Step;
class StepFields;
class StepTouches;

template <class Args>
using RunStep = void (*)(const Args&, const Frame&) noexcept RILL_NONBLOCKING;
/// Runs a step for several streams of a plan. Returns false, and does nothing, if the streams share
/// no weights.
template <class Args>
using RunTogether = bool (*)(const Args&, std::span<const Frame>) noexcept RILL_NONBLOCKING;
template <class Args>
using TouchStep = void (*)(const Args&, StepTouches&);
template <class Args>
using RunShare = void (*)(const Args&, const Frame&, const Share&) noexcept RILL_NONBLOCKING;

/// The functions of a kind of step, and generic operations on its arguments.
struct StepKind {
  const char* name = nullptr;  ///< the same in every build
  void (*run)(const Step& step, const Frame& frame) noexcept RILL_NONBLOCKING = nullptr;
  /// Runs a share of the work; null if the work cannot be split.
  void (*run_share)(const void* args, const Frame& frame,
                    const Share& share) noexcept RILL_NONBLOCKING = nullptr;
  /// Runs the step for several streams, and reads weights once; null if streams can only run one
  /// after the other.
  bool (*run_together)(const void* args,
                       std::span<const Frame> frames) noexcept RILL_NONBLOCKING = nullptr;
  size_t args_bytes = 0;
  size_t args_alignment = 1;
  void (*construct)(void* memory) = nullptr;  ///< makes default arguments, which a visitor then
                                              ///< fills
  void (*destroy)(void* args) = nullptr;
  void (*describe)(void* args, StepFields& fields) = nullptr;
  /// Reports the memory that a step with these arguments reads and writes; the arguments may be
  /// invalid.
  void (*touch)(const void* args, StepTouches& touches) = nullptr;
};
/// The functions of a kind of step with arguments `Args`. `StepKindOf`: a step that runs as a
/// whole; `PartedStepKindOf`: one that can run in shares.
template <class Args>
struct StepKindOf : StepKind {};
template <class Args>
struct PartedStepKindOf : StepKind {};

/// How the work of a step may be split into parts that run at the same time.
struct StepParts {
  int64_t units = 0;
  int64_t most = 1;  ///< the maximum number of parts that repay the cost of waking a thread
  Ref scratch;       ///< scratch memory of the first part, or of the whole step if it is not split
};

/// A function and its arguments, resolved by `prepare`, that a run calls once.
struct Step {
  void (*run)(const Step& step, const Frame& frame) noexcept RILL_NONBLOCKING = nullptr;
  const void* args = nullptr;
  const StepKind* kind = nullptr;
  int node = -1;
  StepParts parts;
};

/// Run a step in parts on the threads of the frame. The results are those of `Step::run`.
/// Real-time: if the pool is.
void run_in_parts(const Step& step, const Frame& frame) noexcept RILL_NONBLOCKING;

/// Run a step on this thread alone, unless the frame has threads and the step has at least two
/// parts.
inline void run_step(const Step& step, const Frame& frame) noexcept RILL_NONBLOCKING {
  if (frame.pool == nullptr || step.parts.most < 2) return step.run(step, frame);
  run_in_parts(step, frame);
}

enum class BufferKind : uint8_t {
  kArena,   ///< lives from its first step to its last
  kConst,   ///< belongs to the plan
  kInput,   ///< bound by the caller, or owned by the session
  kOutput,  ///< bound by the caller, or owned by the session
  kState,   ///< kept between steps
  kRing,    ///< kept between steps; its base advances by one pulse per step
  kSlot,    ///< its base is set by a loop while it runs
};

struct PlanBuffer {
  BufferKind kind = BufferKind::kArena;
  int64_t bytes = 0;
  int64_t offset = 0;  ///< in the arena or the state block
  int first_step = -1;
  int last_step = -1;
  int io = -1;                       ///< index of the input or output
  std::shared_ptr<const void> data;  ///< for kConst
  List<std::byte> initial;           ///< for kState and kRing; empty means zeros
};

/// A history of frames with the newest pulse at its end. The window of `history + pulse` frames
/// starts at the buffer's base, which advances after each step. When the window reaches the end of
/// the buffer, the history moves back to the start.
struct Ring {
  uint32_t buffer = 0;
  int64_t row_bytes = 0;
  int64_t pulse = 0;
  int64_t history = 0;
  int64_t capacity = 0;  ///< in frames
  int64_t lanes = 1;
  int64_t lane_bytes = 0;
};

/// A value that a session keeps between steps. It depends only on the frames that have passed, not
/// on the pulse. In a ring, it is the last frames of a wire.
struct PlanState {
  Text name;          ///< of the wire whose frames it keeps; else of the node that keeps it
  int node = -1;      ///< in `Plan::nodes`
  PlacedView value;   ///< the window of a ring; else a block of bytes
  int axis = -1;      ///< axis of the frames of a ring; -1: not a ring
  int64_t pulse = 0;  ///< new frames per step of a ring
};

/// Streaming of an input or output of a pulsed plan; `axis` is -1 if it is static.
struct PlanStream {
  int axis = -1;
  int64_t pulse = 0;
  int64_t delay = 0;
  /// The length in frames, in the stream symbol; invalid if it is unknown. For a static output: the
  /// value that the symbol must reach before the output is known, 0 if it is known from the start.
  /// For an input: invalid if the length is proportional to the symbol.
  Extent length;
  Text length_text;
  /// For an output that may end before the inputs: the maximum number of frames past its end that a
  /// stream outputs before the end is known. For an input: the maximum number of frames that it
  /// holds beyond a full pulse, while no step can run until the end is announced.
  int64_t early = 0;
  int64_t most = INT64_MAX;  ///< number of frames in the longest stream
};

struct PlanIo {
  Text name;
  DType dtype = DType::kF32;
  QParams q;
  List<int64_t> shape;
  int64_t bytes = 0;
  uint32_t buffer = 0;
  PlanStream stream;
  /// Whether an input holds indices: integers from `least` to `most`.
  bool indices = false;
  int64_t least = 0;
  int64_t most = 0;
};

struct PlanNode {
  Text name;
  Text op;
};

/// The buffers that a step reads, and the buffers that it writes or keeps state in.
struct StepUse {
  List<uint32_t> reads;
  List<uint32_t> writes;
  List<PlacedView> inputs;  ///< operands that it reads and writes; empty unless requested
  List<PlacedView> outputs;
};

/// A model prepared to run: symbols bound, kernels chosen, weights packed, memory laid out.
/// Immutable; shared between threads and sessions.
struct Plan {
  List<PlanIo> inputs;
  List<PlanIo> outputs;
  List<Step> steps;
  List<PlanNode> nodes;  ///< names for profiles, by `Step::node`
  List<PlanBuffer> buffers;
  List<Ring> rings;
  List<PlanState> states;
  Text stream_symbol;        ///< empty unless the model was pulsed
  int64_t stream_pulse = 0;  ///< frames per step, in the stream symbol
  /// Whether the end of a stream of whole pulses may be announced after its last step.
  bool late_end = false;
  /// The longest stream that the model supports, in the stream symbol: the length of its tables.
  int64_t longest = INT64_MAX;
  List<Extent> asserted;            ///< conditions on the length of a stream: each must be >= 0
  List<Text> asserted_texts;        ///< the texts of these conditions, for errors in real-time
                                    ///< threads
  std::array<uint64_t, 2> model{};  ///< fingerprint of the model before it was pulsed
  List<Text> wires;                 ///< streaming wires of the model before it was pulsed
  List<int64_t> wire_delays;        ///< the delay of each of these wires
  int64_t begin_unit = 1;  ///< a saved stream can continue at multiples of this position,
  int64_t settled = 0;     ///< but before position `settled` only at whole pulses
  int64_t arena_bytes = 0;
  int64_t state_bytes = 0;
  int64_t const_bytes = 0;
  int64_t part_scratch_bytes = 0;     ///< the maximum scratch memory that a part of a step needs
  List<StepUse> uses;                 ///< by step; empty unless requested
  List<std::shared_ptr<void>> owned;  ///< argument blocks, loop bodies
};

}  // namespace rill
