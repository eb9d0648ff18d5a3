#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/base/checked.h"
#include "core/base/limits.h"
#include "core/run/plan.h"
#include "core/run/plan_format.h"

namespace rill {

// The records of plan files (docs/plan-files.md): their numbers in order, each with its name and
// range. The writer and both readers use these functions. Readers refuse a number out of its range,
// so that sums of a few numbers cannot overflow; products are `Checked`.
//
// A visitor `Fields` writes or reads a record. It has
//   number(name, value, range), buffer(name, value) for the index of a buffer,
//   text(value), raw(value), extent(value),
//   type(io), which returns the rank, content(buffer), the constant of a buffer,
//   require(holds, why, name), count(size), which returns the number of elements, and
//   many(count, each, lists...), which calls `each` with element i of every list.

/// The largest stride of an axis, in elements. The stride of a unit axis has no meaning.
inline constexpr int64_t kMostPlanStride = int64_t{1} << 50;

/// The ranges of numbers in records, ends included.
enum class PlanRange : uint8_t {
  kFlag,
  kKind,
  kIndex,
  kAxis,
  kBytes,
  kFrames,
  kUnit,
  kDelay,
  kAny,
  kInteger
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
    {INT64_MIN, INT64_MAX},
};
constexpr const PlanBounds& bounds_of(PlanRange range) {
  return kPlanBounds[static_cast<size_t>(range)];
}

/// Read a number of a record, and check its range.
template <class From, class T>
void read_number(From& from, const char* name, T& value, PlanRange range) {
  const PlanBounds& bounds = bounds_of(range);
  value = static_cast<T>(from.number(bounds.least, bounds.most, name));
}
/// Read the index of one of `count` buffers.
template <class From>
void read_buffer_index(From& from, const char* name, uint64_t count, uint32_t& value) {
  const uint64_t number = from.natural();
  if (number >= count) from.fail("there is no such buffer", name);
  value = from.good() ? static_cast<uint32_t>(number) : 0;
}

/// The type and shape of a wire or tensor.
struct ReadType {
  DType dtype = DType::kF32;
  QParams q;
  int rank = 0;
  std::array<int64_t, kMaxRank> shape{};
};
template <class From>
ReadType read_type(From& from) {
  ReadType out;
  out.dtype = static_cast<DType>(from.number(0, static_cast<int64_t>(DType::kBlob)));
  if (!is_plain(out.dtype)) from.fail("a type of elements is invalid");
  if (is_quantised(out.dtype)) {
    out.q.scale = static_cast<float>(from.real());
    out.q.zero_point = static_cast<int32_t>(from.number());
  }
  out.rank = static_cast<int>(from.count(kMaxRank));
  for (size_t axis = 0; axis < static_cast<size_t>(out.rank); ++axis) {
    out.shape[axis] = from.number(0, kMostElements);
  }
  if (!checked_volume({out.shape.data(), static_cast<size_t>(out.rank)})) {
    from.fail("a shape is too large");
  }
  return out;
}

/// Read the location of a constant, and return its bytes.
template <class From>
std::span<const std::byte> read_constant(From& from, std::span<const std::byte> constants) {
  using plan_file::kAlign;
  const uint64_t begin = from.natural();
  const uint64_t bytes = from.natural();
  const uint64_t all = constants.size();
  const bool fits = begin <= all / kAlign && bytes <= all - begin * kAlign &&
                    all - begin * kAlign - bytes >= plan_file::kReadBeyond;
  if (!fits) from.fail("a constant lies outside of the file");
  if (!from.good()) return {};
  return constants.subspan(static_cast<size_t>(begin * kAlign), static_cast<size_t>(bytes));
}

/// Read the number of nodes of a plan. Nodes that only view others have no step; their names are in
/// the notes, which may be omitted.
template <class From>
int64_t read_node_count(From& from, size_t notes_bytes) {
  constexpr uint64_t kMostWithoutNotes = 1U << 17U;
  const uint64_t count = from.natural();
  if (count <= kMostWithoutNotes + from.left() + notes_bytes) return static_cast<int64_t>(count);
  from.fail("it states more nodes than its size allows");
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
  fields.content(buffer);
}

template <class Fields, class Io>
void io_fields(Fields& fields, Io& io) {
  auto& stream = io.stream;
  fields.text(io.name);
  const int rank = fields.type(io);
  fields.buffer("buffer of an input or output", io.buffer);
  fields.number("axis of a stream", stream.axis, PlanRange::kAxis);
  fields.number("frames per step", stream.pulse, PlanRange::kFrames);
  fields.number("delay", stream.delay, PlanRange::kDelay);
  fields.require(stream.axis < rank, "a number is out of its range", "axis of a stream");
  fields.extent(stream.length);
  fields.text(stream.length_text);
  fields.number("frames that are held", stream.early, PlanRange::kFrames);
  fields.number("most frames", stream.most, PlanRange::kAny);
  fields.number("whether indices", io.indices, PlanRange::kFlag);
  if (!io.indices) return;
  fields.number("least index", io.least, PlanRange::kInteger);
  fields.number("largest index", io.most, PlanRange::kInteger);
}

template <class Fields, class Ring>
void ring_fields(Fields& fields, Ring& ring) {
  fields.buffer("buffer of a ring", ring.buffer);
  fields.number("row of a ring", ring.row_bytes, PlanRange::kBytes);
  fields.number("frames per step of a ring", ring.pulse, PlanRange::kFrames);
  fields.number("history of a ring", ring.history, PlanRange::kFrames);
  fields.number("capacity of a ring", ring.capacity, PlanRange::kFrames);
  fields.number("lanes of a ring", ring.lanes, PlanRange::kBytes);
  fields.number("lane of a ring", ring.lane_bytes, PlanRange::kBytes);
}

template <class Fields, class State>
void state_fields(Fields& fields, State& state) {
  fields.text(state.name);
  fields.number("node of a state", state.node, PlanRange::kIndex);
  fields.number("axis of a state", state.axis, PlanRange::kAxis);
  fields.number("frames per step of a state", state.pulse, PlanRange::kFrames);
}

/// Visit a list, after the number of its elements.
template <class Fields, class Each, class List>
void list_fields(Fields& fields, const Each& each, List& list) {
  fields.many(fields.count(list.size()), each, list);
}

/// Visit the part of a plan between the tables to which its steps refer and its states and steps.
template <class Fields, class Plan>
void plan_fields(Fields& fields, Plan& plan) {
  list_fields(fields, [&](auto& buffer) { buffer_fields(fields, buffer); }, plan.buffers);
  fields.number("bytes of the arena", plan.arena_bytes, PlanRange::kBytes);
  fields.number("bytes of the state", plan.state_bytes, PlanRange::kBytes);
  fields.number("bytes of scratch", plan.part_scratch_bytes, PlanRange::kBytes);
  list_fields(fields, [&](auto& io) { io_fields(fields, io); }, plan.inputs);
  list_fields(fields, [&](auto& io) { io_fields(fields, io); }, plan.outputs);
  list_fields(fields, [&](auto& ring) { ring_fields(fields, ring); }, plan.rings);
  list_fields(fields, [&](auto& state) { state_fields(fields, state); }, plan.states);
  fields.text(plan.stream_symbol);
  fields.number("units of the symbol per step", plan.stream_pulse, PlanRange::kFrames);
  fields.number("late end", plan.late_end, PlanRange::kFlag);
  fields.number("longest stream", plan.longest, PlanRange::kAny);
  const int64_t asserted = fields.count(plan.asserted.size());
  fields.many(asserted, [&](auto& each) { fields.extent(each); }, plan.asserted);
  fields.many(asserted, [&](auto& each) { fields.text(each); }, plan.asserted_texts);
  for (auto& half : plan.model) fields.raw(half);
  const auto wire = [&](auto& name, auto& delay) {
    fields.text(name);
    fields.number("delay of a wire", delay, PlanRange::kDelay);
  };
  fields.many(fields.count(plan.wires.size()), wire, plan.wires, plan.wire_delays);
  fields.number("unit of positions", plan.begin_unit, PlanRange::kUnit);
  fields.number("settled position", plan.settled, PlanRange::kFrames);
}

}  // namespace rill
