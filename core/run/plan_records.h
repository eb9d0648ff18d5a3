#pragma once

#include <cstdint>

#include "core/base/limits.h"
#include "core/run/plan.h"

namespace rill {

// The records of plan files (docs/plan-files.md), number by number in their order, each with its
// name and its range: the writer and both readers go by these. Readers refuse a number outside of
// its range, so that sums of a few stay in range; products are `Checked`.
//
// `Fields` has `number(name, value, range)`, and `buffer(name, value)` for the number of a buffer.

/// Of the stride of an axis, in elements. That of an axis of one element means nothing.
inline constexpr int64_t kMostPlanStride = int64_t{1} << 50;

/// Where numbers of records lie, ends included.
enum class PlanRange : uint8_t {
  kFlag,
  kKind,
  kIndex,
  kAxis,
  kBytes,
  kFrames,
  kUnit,
  kDelay,
  kAny
};
struct PlanBounds {
  int64_t least;
  int64_t most;
};
inline constexpr PlanBounds kPlanBounds[] = {
    {0, 1},
    {0, static_cast<int64_t>(BufferKind::kSlot)},
    {-1, INT32_MAX},
    {-1, kMaxRank - 1},
    {0, kMostMemoryBytes},
    {0, kMostFrames},
    {1, kMostFrames},
    {-kMostFrames, kMostFrames},
    {0, INT64_MAX},
};
constexpr const PlanBounds& bounds_of(PlanRange range) {
  return kPlanBounds[static_cast<size_t>(range)];
}

/// Read a number of a record, within its range.
template <class From, class T>
void read_number(From& from, const char* name, T& value, PlanRange range) {
  const PlanBounds& bounds = bounds_of(range);
  value = static_cast<T>(from.number(bounds.least, bounds.most, name));
}
/// Read the number of one of `count` buffers.
template <class From>
void read_buffer_index(From& from, const char* name, uint64_t count, uint32_t& value) {
  const uint64_t number = from.natural();
  if (number >= count) from.fail("there is no such buffer", name);
  value = from.good() ? static_cast<uint32_t>(number) : 0;
}

/// Read how many nodes a plan has. Nodes that only view others have no step, and their names are in
/// the notes, which may be left out.
template <class From>
int64_t read_node_count(From& from, size_t notes_bytes) {
  constexpr uint64_t kMostWithoutNotes = 1U << 17U;
  const uint64_t count = from.natural();
  if (count <= kMostWithoutNotes + from.left() + notes_bytes) return static_cast<int64_t>(count);
  from.fail("it has more nodes than it can hold");
  return 0;
}

template <class Fields, class Buffer>
void buffer_fields(Fields& fields, Buffer& buffer) {
  fields.number("kind of a buffer", buffer.kind, PlanRange::kKind);
  fields.number("bytes of a buffer", buffer.bytes, PlanRange::kBytes);
  fields.number("offset of a buffer", buffer.offset, PlanRange::kBytes);
  fields.number("index of an input or output", buffer.io, PlanRange::kIndex);
  fields.number("first step of a buffer", buffer.first_step, PlanRange::kIndex);
  fields.number("last step of a buffer", buffer.last_step, PlanRange::kIndex);
}

template <class Fields, class Plan>
void memory_fields(Fields& fields, Plan& plan) {
  fields.number("bytes of the arena", plan.arena_bytes, PlanRange::kBytes);
  fields.number("bytes of the state", plan.state_bytes, PlanRange::kBytes);
  fields.number("bytes of scratch", plan.part_scratch_bytes, PlanRange::kBytes);
}

/// The streaming of an input or output, except its length.
template <class Fields, class Stream>
void stream_fields(Fields& fields, Stream& stream) {
  fields.number("axis of a stream", stream.axis, PlanRange::kAxis);
  fields.number("frames per step", stream.pulse, PlanRange::kFrames);
  fields.number("delay", stream.delay, PlanRange::kDelay);
}
/// And behind it.
template <class Fields, class Stream>
void stream_end_fields(Fields& fields, Stream& stream) {
  fields.number("frames that are held", stream.early, PlanRange::kFrames);
  fields.number("most frames", stream.most, PlanRange::kAny);
}

template <class Fields, class Ring>
void ring_fields(Fields& fields, Ring& ring) {
  fields.buffer("buffer of a ring", ring.buffer);
  fields.number("row of a ring", ring.row_bytes, PlanRange::kBytes);
  fields.number("frames per step of a ring", ring.pulse, PlanRange::kFrames);
  fields.number("history of a ring", ring.history, PlanRange::kFrames);
  fields.number("room of a ring", ring.capacity, PlanRange::kFrames);
  fields.number("lanes of a ring", ring.lanes, PlanRange::kBytes);
  fields.number("lane of a ring", ring.lane_bytes, PlanRange::kBytes);
}

/// A state, behind its name.
template <class Fields, class State>
void state_fields(Fields& fields, State& state) {
  fields.number("node of a state", state.node, PlanRange::kIndex);
  fields.number("axis of a state", state.axis, PlanRange::kAxis);
  fields.number("frames per step of a state", state.pulse, PlanRange::kFrames);
}

/// The stream, behind its symbol.
template <class Fields, class Plan>
void pulse_fields(Fields& fields, Plan& plan) {
  fields.number("units of the symbol per step", plan.stream_pulse, PlanRange::kFrames);
  fields.number("late end", plan.late_end, PlanRange::kFlag);
  fields.number("longest stream", plan.longest, PlanRange::kAny);
}
/// Where a stream may be gone on with.
template <class Fields, class Plan>
void place_fields(Fields& fields, Plan& plan) {
  fields.number("unit of positions", plan.begin_unit, PlanRange::kUnit);
  fields.number("settled position", plan.settled, PlanRange::kFrames);
}

}  // namespace rill
