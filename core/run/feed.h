#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/base/list.h"
#include "core/run/session.h"
#include "core/tensor/frames.h"

namespace rill {

/// Accepts the frames of a stream in pieces of any size, and returns those of the whole run: hides
/// pulse, delay and tail. Steps the session as soon as every streaming input has a pulse and the
/// output queues have capacity. If outputs may end before inputs, the model must know the end
/// together with the last frames (`Plan::late_end` is false). A full pulse then waits for the next
/// frame, or for `finish`.
/// Thread: one at a time. Real-time: push, pull, finish and reset.
class PlacedFeed {
 public:
  /// Return the bytes that `place` needs, at an address that is a multiple of `kSessionAlignment`.
  /// Nothing if the plan does not stream, or if the size overflows. `max_push`: how many frames of
  /// the first streaming input `push` must accept without a pull, if the other inputs keep pace.
  static std::optional<int64_t> bytes_for(const Plan& plan, int64_t max_push) RILL_NONBLOCKING;
  /// Make a feed at the start of aligned memory of `bytes_for(plan, max_push)` bytes. The memory
  /// and the session must outlive the feed.
  static PlacedFeed* place(PlacedSession* session, int64_t max_push,
                           void* memory) noexcept RILL_NONBLOCKING;
  /// Free the frames that a loaded state left on the heap. The feed must not be used afterwards.
  void end() noexcept;
  PlacedFeed(const PlacedFeed&) = delete;
  PlacedFeed& operator=(const PlacedFeed&) = delete;

  /// Accept frames of a streaming input; the streaming axis may have any extent. Return the number
  /// of accepted frames: fewer than given if outputs must be pulled, or other inputs pushed, first.
  /// Surplus frames of an input that is declared longer than the others are queued.
  int64_t push(size_t input, const View& frames) noexcept RILL_NONBLOCKING;
  /// Copy frames of a streaming output, at most the extent of `into`. Return their number.
  int64_t pull(size_t output, const View& into) noexcept RILL_NONBLOCKING;
  /// Announce that all frames have been pushed; then `pull` returns the tail.
  /// Errors: kShape if the input lengths match no common end, or the model has no output for that
  /// length; kState if the last frames were already stepped by a step that had to know the end;
  /// kUnsupported if the length of an output is unknown. After an error, nothing has changed.
  Refusal finish() RILL_NONBLOCKING;
  bool finished() const { return session_->end_announced(); }

  /// Return whether no frames are queued. Only then may the session also be stepped directly.
  bool idle() const RILL_NONBLOCKING;
  int64_t pushed(size_t input) const RILL_NONBLOCKING;
  /// Return an input that has fewer frames than the announced end requires; -1 if there is none.
  int lacking() const RILL_NONBLOCKING;
  /// Return how many more frames of an input the model allows.
  int64_t room(size_t input) const RILL_NONBLOCKING;
  /// Return how many frames of an output were pulled since the start of the stream, here or in the
  /// session whose saved state was loaded.
  int64_t pulled(size_t output) const RILL_NONBLOCKING;
  /// Bind a buffer of the session. Queued frames and the values of static outputs are moved to it.
  void bind_input(size_t input, void* data) noexcept RILL_NONBLOCKING;
  void bind_output(size_t output, void* data) noexcept RILL_NONBLOCKING;
  void reset() noexcept RILL_NONBLOCKING;
  /// Copy the state of another feed of the same plan, after the session has copied the state of the
  /// other feed's session.
  void copy(const PlacedFeed& other);

 protected:
  friend class SavedState;

  /// Consecutive frames that are consumed from the start.
  struct Rows {
    List<std::byte> bytes;
    int64_t count = 0;
    int64_t taken = 0;
    int64_t left() const { return count - taken; }
    std::byte* next(int64_t frame_bytes) { return bytes.data() + taken * frame_bytes; }
    const std::byte* next(int64_t frame_bytes) const { return bytes.data() + taken * frame_bytes; }
  };
  /// Queued frames of an input or output, in addition to those in the session's buffer. The queue
  /// is a ring.
  struct Waiting {
    int axis = -1;
    int64_t frame_bytes = 0;
    int64_t queue = 0;     ///< byte offset of the queue
    int64_t capacity = 0;  ///< in frames
    int64_t head = 0;
    int64_t queued = 0;
    Rows early;  ///< frames of a loaded state, before the others
  };
  struct In : Waiting {
    int64_t filled = 0;  ///< frames in the session's buffer
    int64_t left() const { return early.left() + queued; }
  };
  struct Out : Waiting {
    int64_t first = 0;  ///< the first unread frame in the session's buffer
    int64_t rest = 0;
  };
  /// The complete state of a feed: copying a feed copies this and nothing else.
  struct Kept {
    std::span<In> ins;
    std::span<Out> outs;
    std::span<std::byte> queues;
  };
  /// The byte offsets of the parts of the state in the memory of a feed.
  struct Offsets {
    int64_t outs = 0;
    int64_t queues = 0;
    int64_t all = 0;
  };
  static std::optional<Offsets> offsets_for(const Plan& plan, int64_t max_push) RILL_NONBLOCKING;

  explicit PlacedFeed(PlacedSession* session) : session_(session) {}
  ~PlacedFeed() = default;
  /// Lay out the state in memory.
  void begin(int64_t max_push, std::byte* memory) noexcept RILL_NONBLOCKING;

 private:
  bool advance(size_t input, int64_t coming) noexcept RILL_NONBLOCKING;
  bool continues(size_t input, int64_t coming) const RILL_NONBLOCKING;
  void run_step() noexcept RILL_NONBLOCKING;
  void refill(size_t input) noexcept RILL_NONBLOCKING;
  void settle(size_t output) noexcept RILL_NONBLOCKING;
  int64_t take_queued(size_t output, const View& into, int64_t at) noexcept RILL_NONBLOCKING;
  /// Return the frames of an output that steps have computed so far, assuming that the stream
  /// continues.
  int64_t frames_until_now(size_t output) const RILL_NONBLOCKING;
  std::byte* queue(const Waiting& of) RILL_NONBLOCKING { return kept_.queues.data() + of.queue; }
  /// Queue frames of a view from `first`, as many as fit.
  int64_t put(Waiting* to, const View& from, int64_t first,
              int64_t count) noexcept RILL_NONBLOCKING;
  /// Move the first queued frames into a view at `at`, as many as are contiguous in memory.
  int64_t take(Waiting* from, const View& into, int64_t at,
               int64_t count) noexcept RILL_NONBLOCKING;
  /// Return the frames of an output that steps have computed, without those past the end.
  int64_t given(size_t output) const RILL_NONBLOCKING;
  /// Return the frames that may be pulled; frames that may lie past the end are held.
  int64_t available(size_t output) const RILL_NONBLOCKING;
  void drop_after_end(size_t output) noexcept RILL_NONBLOCKING;
  /// Return the frames that were stepped or are in the session's buffer.
  int64_t seen(size_t input) const RILL_NONBLOCKING;
  /// Return the length of an input if the symbol has the value `end`; nothing on overflow.
  std::optional<int64_t> length_of(size_t input, int64_t end) const RILL_NONBLOCKING;

  PlacedSession* session_;

 protected:
  Kept kept_;
};

/// Return the input whose frames count the stream symbol: per step it has as many frames as symbol
/// units, or a multiple. If there is none, return the first streaming input; -1 if no input
/// streams.
int counting_input(const Plan& plan) RILL_NONBLOCKING;

/// Return a view of `count` consecutive frames at `data`, each row-major, with the shape of `like`.
View frame_rows(const View& like, int axis, int64_t count, void* data) RILL_NONBLOCKING;
/// Return the bytes of one frame.
int64_t frame_bytes(const View& view, int axis) RILL_NONBLOCKING;

}  // namespace rill
