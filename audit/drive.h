#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "audit/deadline.h"
#include "audit/draw.h"
#include "core/exec/feed.h"
#include "core/exec/plan.h"
#include "core/exec/session.h"

namespace rill::audit {

struct StreamOptions {
  bool nan_filler = false;  ///< fill with NaN after the end, to expose reads there; else zeros
  bool keep_turns = false;  ///< keep the outputs of every step
  bool open_end = false;    ///< the stream continues after the inputs: its end is not announced
  /// Use the frames and steps that the session reports, like apps, not those computed from delays
  /// and lengths.
  bool ask_session = false;
  std::function<void(int64_t step, int64_t steps)> progress;  ///< called before each step
  Deadline until;  ///< a stream with steps left at this time is abandoned
};

struct StreamResult {
  std::vector<Tensor> outputs;  ///< delay and tail dropped; the last value of static outputs
  std::vector<std::vector<Tensor>> turns;
  std::vector<bool> exact_length;  ///< whether the number of frames is known, not estimated
  int64_t frames = 0;              ///< the value of the stream symbol
  int64_t steps = 0;
  bool given_up = false;  ///< abandoned before its end: the outputs are incomplete
};

/// Run a stream from its start: feed the inputs pulse by pulse, announce the end with the last
/// frames, and step until every frame is output.
/// `frames`: the value of the stream symbol.
/// Errors: kShape if the inputs do not fit, or if the model is undefined for that length.
Result<StreamResult> run_stream(Session* session, std::span<const Tensor> inputs, int64_t frames,
                                const StreamOptions& options);

/// A stream in a separate session, for `run_side_by_side`.
struct Lane {
  Session* session = nullptr;
  std::span<const Tensor> inputs;
  int64_t frames = 0;
};
/// Run streams of one plan, whose sessions step together; shorter streams end earlier. Errors:
/// those of `run_stream`.
Result<std::vector<StreamResult>> run_side_by_side(std::span<const Lane> lanes,
                                                   const StreamOptions& options);

/// Check a value against an input of a plan; `free_axis` may have any extent. Errors: kShape,
/// naming the input, if type or shape differ.
Status check_fit(const PlanIo& io, const Tensor& value, int free_axis);

/// A stream that is pushed in pieces of any size, and collects its outputs. It may continue in
/// another session.
class PushedStream {
 public:
  /// `until`: after this time, remaining frames are dropped.
  PushedStream(std::span<const Tensor> inputs, uint64_t seed, Deadline until = {})
      : inputs_(inputs), draw_(seed), until_(until) {}

  /// Begin or continue in a session; sets the inputs that do not stream.
  void attach(Session* session, Feed* feed);
  /// Push a piece of every input, and pull some of the available frames. Return false once all is
  /// pushed, nothing more is accepted, or the stream is abandoned.
  bool step();
  /// Return whether the feed accepted nothing in 1000 steps although frames remained.
  bool stuck() const { return idle_ >= kMostIdle; }
  /// Return whether the stream was abandoned, so that its outputs are incomplete.
  bool given_up() const { return given_up_; }
  /// Return whether `percent` of the first input that streams is pushed.
  bool past(int64_t percent) const;
  /// Forget all pushed and pulled frames.
  void restart();
  /// Announce the end, and pull the rest. Errors: kState if the stream is stuck; those of the feed.
  Status finish();
  /// Return the frames of every streaming output, and the last value of the others.
  Result<std::vector<Tensor>> outputs() const;

 private:
  static constexpr int kMostIdle = 1000;

  int64_t pull(size_t output, int64_t most);

  std::span<const Tensor> inputs_;
  Draw draw_;
  Deadline until_;
  bool given_up_ = false;
  Session* session_ = nullptr;
  Feed* feed_ = nullptr;
  int idle_ = 0;
  std::vector<int64_t> pushed_;
  std::vector<std::vector<std::byte>> rows_;
  std::vector<int64_t> frames_;
};

}  // namespace rill::audit
