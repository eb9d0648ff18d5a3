#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "audit/deadline.h"
#include "core/graph/graph.h"

namespace rill::audit {

/// The outputs of a run; nothing if it was abandoned.
using Outputs = Result<std::optional<std::vector<Tensor>>>;

struct Options {
  Bindings others;         ///< values of the other symbols; 2 for those left out
  double seconds = 2;      ///< of wall clock; comparisons stop then
  int64_t lengths = 1000;  ///< the maximum number of lengths to compare
  int64_t longest = int64_t{1} << 18;  ///< maximum length of a stream, in the stream symbol
  int64_t longest_crossing = int64_t{1} << 21;  ///< the same for the stream that fills all windows
  int64_t session_bytes = int64_t{1} << 31;  ///< maximum memory of each of several streams
  uint64_t seed = 1;
  std::vector<int64_t> multiples = {2, 3};  ///< states are moved to these multiples of the pulse
  /// The tolerance of outputs downstream of attention, absolute and relative: a stream adds the
  /// terms of attention in another order. All other outputs must have the same bits.
  double attention_rounding = 1e-5;
  /// Computes the expected outputs of a graph that runs over windows: `run_windows`, in programs
  /// that audit such graphs.
  Outputs (*windows)(const Graph& whole, const Graph& slid, int64_t length,
                     std::span<const Tensor> inputs, Deadline until) = nullptr;
};

/// A stream whose frames differ from the whole run's.
struct Finding {
  int64_t length = 0;  ///< of the stream, in its symbol
  int64_t pulse = 0;
  std::string mode;     ///< how the stream was driven
  std::string output;  ///< empty where the stream failed as a whole
  std::string what;
  std::string to_string() const;
};

/// Frames of a wire that a session keeps between steps.
struct Window {
  std::string wire;
  int64_t frames = 0;   ///< the kept frames, in the stream symbol, rounded up
  int64_t crossed = 0;  ///< the shortest stream that fills the window and overwrites its start
};

enum class Outcome {
  kSame,
  kDiffers,
  kUnproven,    ///< an output never varied
  kNotReached,  ///< no compared stream was long enough to cross every window
};

/// The comparisons of an audit, and their outcome.
struct Report {
  std::string symbol;
  int64_t pulse = 0;
  std::vector<Window> windows;  ///< by `crossed`, descending
  int64_t longest = 0;          ///< the longest stream that an audit of any duration would make
  std::vector<int64_t> lengths;  ///< at which streams were compared, ascending
  int64_t undefined = 0;         ///< lengths at which the whole graph refuses to run
  std::string why_undefined;     ///< the last reason
  int64_t refused = 0;           ///< lengths that the whole graph accepts and the stream refuses
  std::string why_refused;       ///< the last reason
  int64_t edges = 0;  ///< defined lengths at which a condition of the model may change
  int64_t edges_compared = 0;
  int64_t period = 1;            ///< past `settled` frames, the behaviour of wires repeats with it
  int64_t settled = 0;
  int64_t open = 0;        ///< expressions of lengths with unknown period
  int64_t remainders = 0;  ///< compared remainders modulo the period, past `settled`
  std::map<std::string, int64_t> modes;  ///< streams compared, by how they were driven
  /// Compared outputs that were not empty and differed for another input. Elements that do not
  /// differ, or are not finite, prove nothing.
  int64_t outputs = 0;
  int64_t frames = 0;                   ///< their frames with at least one element that varies
  std::map<std::string, int64_t> varied;  ///< the same frames, by output
  int64_t not_moved = 0;                ///< states that another pulse cannot continue
  int64_t given_up = 0;                 ///< streams abandoned for lack of time
  std::optional<Finding> finding;       ///< the first one, at which the audit ends

  /// Return a summary in one line: the comparisons, or the differences.
  std::string to_string() const;
  /// Return compared outputs that were the same, or not finite, for every input.
  std::vector<std::string> unproven() const;
  /// Return the windows that no compared stream crossed.
  std::vector<Window> uncrossed() const;
  Outcome outcome() const;
  /// Return success for the outcome `kSame`. Errors: kState for every other outcome.
  Status verdict() const;
};

/// Compare a pulsed graph to its whole graph on streams of noise with standard deviations from 1e-3
/// to 1e4 (at most 1 for attention). The first length fills and overwrites every window of frames.
/// Then come lengths on both sides of every point at which a condition changes, every remainder of
/// the period, and random lengths. Streams are stepped with NaN past the end, pushed in pieces,
/// reset, saved and loaded, cloned, moved to multiples of the pulse and back, and run side by side.
/// A graph that computes whole windows is compared to runs of the whole graph over each window.
/// Errors: kPulse if the graph is not pulsed, or computes windows without `windows`; kState if no
/// output has a frame; kNoMem if a stream takes more memory than the options allow; those of
/// `prepare`. A stream that differs and an output that never varied only affect the report's
/// verdict. The report counts lengths for which the model is undefined.
/// Thread: one at a time. Source: a stream's frames are the whole run's after the reported delay.
Result<Report> audit(const Graph& whole, const Graph& pulsed, const Options& options);

}  // namespace rill::audit
