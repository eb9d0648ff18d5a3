#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/base/refusal.h"
#include "core/run/plan.h"
#include "core/run/session_parts.h"

namespace rill {

/// The alignment of a session's memory in bytes.
inline constexpr int64_t kSessionAlignment = 64;

/// A single run, or a single stream, of a plan, in memory of the caller. Does not use the heap.
///
/// A pulsed plan is stepped once per pulse. The end of the stream is announced before the step that
/// gets its last frames; further steps output the tail.
/// Thread: one at a time.
class PlacedSession {
 public:
  /// Return the bytes that `place` needs, at an address that is a multiple of `kSessionAlignment`.
  static int64_t bytes_for(const Plan& plan) RILL_NONBLOCKING;
  /// Make a session at the start of aligned memory of `bytes_for(plan)` bytes. The memory and the
  /// plan must outlive the session; there is nothing to free. A session with a stream steps once
  /// over zeros and then resets, so that code and memory are warm at its first step. Real-time:
  /// yes, but takes one step longer.
  static PlacedSession* place(const Plan& plan, void* memory) noexcept RILL_NONBLOCKING;
  PlacedSession(const PlacedSession&) = delete;
  PlacedSession& operator=(const PlacedSession&) = delete;

  const Plan& plan() const { return *plan_; }

  /// Return the memory of an input or output: the session's own, or the memory bound to it.
  View input(size_t index) const RILL_NONBLOCKING;
  View output(size_t index) const RILL_NONBLOCKING;
  /// Use memory of the caller, row-major and large enough, until the session ends or null is bound.
  /// Real-time: yes.
  void bind_input(size_t index, void* data) noexcept RILL_NONBLOCKING;
  void bind_output(size_t index, void* data) noexcept RILL_NONBLOCKING;

  /// Run once: the whole graph, or the next pulse. Real-time: no allocation, lock or system call.
  /// Denormals are flushed meanwhile.
  void step() noexcept RILL_NONBLOCKING;
  /// Run one step of the plan; `end_step` ends the run after the last one. So several sessions can
  /// run layer by layer (`step_together`). Real-time: as `step`, inside `FlushDenormals`.
  void run_layer(size_t step) noexcept RILL_NONBLOCKING {
    rill::run_step(plan_->steps[step], frame());
  }
  Frame frame() noexcept RILL_NONBLOCKING;
  void end_step() noexcept RILL_NONBLOCKING {
    advance_rings();
    ++progress_.clock.tick;
    progress_.end_is_news = false;
  }
  /// Announce the length of the stream, as the value of its symbol, before the step that gets the
  /// last frames. -1 withdraws it.
  void announce_end(int64_t frames) noexcept RILL_NONBLOCKING;
  /// Errors: kShape if the model is not defined for a stream of that length, counted in the symbol.
  /// Length 0 is also accepted if the assertions hold for one frame and no frame would be output.
  Refusal check_length(int64_t frames) RILL_NONBLOCKING;
  /// Return whether the model allows another full pulse.
  bool has_room() const RILL_NONBLOCKING {
    return plan_->longest - position(plan_->stream_pulse) >= plan_->stream_pulse;
  }
  /// Announce the end, unless the model has no output for a stream of that length, or has already
  /// run the step that gets the last frames and had to know the end then (`Plan::late_end` is
  /// false). Errors: kShape, kState; then nothing has changed.
  Refusal try_end(int64_t frames) RILL_NONBLOCKING;
  bool end_announced() const { return progress_.clock.end >= 0; }
  int64_t end() const { return progress_.clock.end; }
  int64_t ticks() const { return progress_.clock.tick; }
  /// Return the first frame of the next step on a wire with `frames` frames per step.
  int64_t position(int64_t frames) const RILL_NONBLOCKING {
    return progress_.clock.position(frames);
  }
  /// Restart like a new session; inputs and outputs keep their values. Real-time: yes.
  void reset() noexcept RILL_NONBLOCKING;
  /// Copy the complete state of another session of the same plan, and the content of its input and
  /// output buffers. Bound buffers stay bound. Real-time: yes.
  void copy_state(const PlacedSession& other) noexcept RILL_NONBLOCKING;

  /// Return the number of frames of an output once the end is announced; -1 if it is unknown.
  int64_t output_frames(size_t index) const noexcept RILL_NONBLOCKING;
  /// The valid frames of an output after the last step: [first, first + count).
  struct Valid {
    int64_t first = 0;
    int64_t count = 0;
  };
  Valid valid_frames(size_t index) const noexcept RILL_NONBLOCKING;
  /// Return the number of steps still needed to output every frame; -1 if it is unknown.
  int64_t steps_left() const noexcept RILL_NONBLOCKING;

  const SessionParts& parts() const { return parts_; }
  /// Return the address of a part; for inputs and outputs, the session's own buffer, even if
  /// another buffer is bound.
  std::byte* at(const SessionPart& part) const RILL_NONBLOCKING { return block_ + part.offset; }

 protected:
  PlacedSession() = default;
  ~PlacedSession() = default;
  /// Run steps in parts on a pool. `scratch` holds the scratch memory of all parts but the first.
  void set_pool(const Pool* pool, std::byte* scratch) RILL_NONBLOCKING {
    pool_ = pool;
    part_scratch_ = scratch;
  }
  /// Set up the session in a block of `SessionParts::bytes_for(plan)` bytes.
  void begin(const Plan& plan, std::byte* block) noexcept RILL_NONBLOCKING;

 private:
  friend class SavedState;
  /// The position of the stream. Together with the kept parts, this is the complete state of a
  /// session.
  struct Progress {
    StreamClock clock;
    bool end_is_news = false;  ///< no step has run since the end was announced
  };

  void find_addresses() noexcept RILL_NONBLOCKING;
  void warm_up() noexcept RILL_NONBLOCKING;
  void advance_rings() noexcept RILL_NONBLOCKING;
  /// Recompute everything that depends on the kept parts and the progress.
  void settle() noexcept RILL_NONBLOCKING;
  /// Return whether a whole run over no frames would output a value or a frame, for example of
  /// padding.
  bool outputs_without_frames() const RILL_NONBLOCKING;
  /// Return whether this end had to be announced before the step that got the last frames.
  bool is_too_late(int64_t end) const RILL_NONBLOCKING {
    return !plan_->late_end && end > 0 && end <= position(plan_->stream_pulse);
  }
  /// Return whether the stream ends without a frame, for which the model is not defined.
  bool gives_nothing() const RILL_NONBLOCKING { return end() == 0 && asks_for_a_frame_; }
  /// Return the address of a kept part; for inputs and outputs, of the bound buffer.
  std::byte* kept(const SessionPart& part) const RILL_NONBLOCKING;
  /// Return the value of the stream symbol, or 0 until the end is known; nothing without a symbol.
  std::optional<int64_t> symbol_value() const RILL_NONBLOCKING;

  const Plan* plan_ = nullptr;
  SessionParts parts_;
  std::byte* block_ = nullptr;  ///< the memory of all parts
  std::byte** base_ = nullptr;  ///< in the block
  int64_t* places_ = nullptr;   ///< in the block
  std::byte* part_scratch_ = nullptr;
  const Pool* pool_ = nullptr;
  bool asks_for_a_frame_ = false;  ///< the model is not defined for an empty stream
  Progress progress_;
};

}  // namespace rill
