#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/exec/feed.h"
#include "core/exec/session.h"

namespace rill {

class StateReader;
class StateWriter;

/// The state of a stream as bytes: its position, the state of each node, and the queued frames of
/// inputs and outputs. A session of any plan of the same model can continue from it, for any pulse,
/// kernels and memory layout: a ring is saved as the last frames of a wire, in rows.
///
///   header   magic, version, sizes, checksum, fingerprint of the model, position, end
///   wires    the delay of each wire of the model: pulses with other delays do not fit
///   states   per state: name, type, shape, elements
///   queues   per input, the frames not stepped yet; per output, the frames not pulled yet
///   values   of static outputs, if they are known
///
/// Numbers are little-endian; every part begins at a multiple of 8 bytes.
class SavedState {
 public:
  /// `feed` may be null: then there are no queued frames.
  SavedState(PlacedSession* session, PlacedFeed* feed) : session_(*session), feed_(feed) {}

  /// Return the maximum number of bytes that a save needs until a state is loaded.
  int64_t most_bytes() const RILL_NONBLOCKING;
  /// Write to memory aligned to 8 bytes; return the number of bytes, or -1 if `to` is too small.
  /// Real-time: yes.
  int64_t save(std::span<std::byte> to) const noexcept RILL_NONBLOCKING;
  /// Load a state. Errors: kParse if it is not a state, or is truncated, damaged or of another
  /// version; kState, with the node, for a state of another model, or one that cannot move to this
  /// plan. After an error, also kNoMem, the session is unchanged.
  Status load(std::span<const std::byte> from);

 private:
  struct Header;
  struct Entry;
  struct Rows;
  struct Parsed;
  class Finder;

  void write_states(StateWriter* writer) const noexcept RILL_NONBLOCKING;
  void write_inputs(StateWriter* writer) const noexcept RILL_NONBLOCKING;
  void write_outputs(StateWriter* writer) const noexcept RILL_NONBLOCKING;
  std::byte* write_waiting(const PlacedFeed::Waiting& from,
                           std::byte* to) const noexcept RILL_NONBLOCKING;
  Header header_of(int64_t bytes) const noexcept RILL_NONBLOCKING;
  Status read(StateReader* reader, Parsed* out) const;
  Status check_position(const Header& header) const;
  Status check_wires(std::span<const int64_t> delays, int64_t unit) const;
  Result<std::vector<const Entry*>> match(const Parsed& parsed) const;
  Status check_queues(const Parsed& parsed) const;
  static void copy_queues(Parsed* parsed);
  void apply(Parsed&& parsed, std::span<const Entry* const> matches) noexcept;
  /// Return the view of a state in this session.
  View view_of(const PlanState& state) const RILL_NONBLOCKING;

  PlacedSession& session_;
  PlacedFeed* feed_;
};

}  // namespace rill
