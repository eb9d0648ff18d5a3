#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "audit/audit.h"
#include "audit/drive.h"
#include "audit/values.h"
#include "core/exec/shared_weights.h"

namespace rill::audit {

/// Run the whole graph once with the stream symbol bound. `weights`: those of other plans of the
/// graph. Errors: if the graph is undefined for that length.
Outputs run_whole(const Graph& graph, const std::string& symbol, int64_t length,
                  std::span<const Tensor> inputs, SharedWeights* weights, Deadline until);

/// The modes of driving a stream, each compared to the whole run.
class Modes {
 public:
  /// Prepare comparisons. `pulsed`: the graph of the first plan. `weights`: those of the plans;
  /// must outlive this object. `until`: comparisons stop then.
  static Result<Modes> make(const Graph& whole, const Graph& pulsed,
                            std::vector<std::shared_ptr<const Plan>> plans, SharedWeights* weights,
                            const Options& options, Deadline until);
  const Plan& plan() const { return *plans_[0]; }
  /// Set the deadline of the comparisons that follow; later ones are given up.
  void end_by(Deadline until) { until_ = until; }

  /// Compare streams of one length: step by step, and in one other mode, or in all. Findings,
  /// comparisons and skipped modes go to the report. Errors: if the whole graph is undefined.
  Status compare(int64_t length, bool in_all_modes, Draw* draw, Report* report);

 private:
  /// The event in the middle of a pushed stream.
  enum class Event { kNone, kReset, kSave, kClone, kMove };
  struct Case {
    int64_t length = 0;
    std::vector<Tensor> inputs;
    std::vector<Tensor> want;
    std::vector<int64_t> frames;  ///< per output: how many differ from those of another input
  };

  Modes(const Graph& whole, const Graph& pulsed, std::vector<std::shared_ptr<const Plan>> plans,
        SharedWeights* weights, Deadline until)
      : whole_(whole),
        pulsed_(pulsed),
        plans_(std::move(plans)),
        weights_(weights),
        until_(until) {}
  Outputs stepped(const Case& at);
  Outputs pushed(const Case& at, Event event, Draw* draw, Report* report);
  Result<std::unique_ptr<Session>> moved(Session* session, Feed* feed, std::unique_ptr<Feed>* next,
                                         Event event, Draw* draw, bool* refused);
  /// Draw noise of the next kind, and run the whole graph on it; false if abandoned.
  Result<bool> draw_case(int64_t length, Draw* draw, Case* out);
  NoiseKind next_kind(Draw* draw);
  void count_varied(const Case& other, Case* of) const;
  Status side_by_side(const Case& at, const Case& other, Report* report);
  void judge(const Case& at, const char* mode, const Outputs& got, Report* report);

  const Graph& whole_;
  const Graph& pulsed_;
  /// Of `Options`, for a graph that computes whole windows; else null.
  decltype(Options::windows) windows_ = nullptr;
  std::vector<std::shared_ptr<const Plan>> plans_;
  SharedWeights* weights_;
  Deadline until_;
  std::unique_ptr<Session> session_;  ///< reset between lengths, to check resets too
  std::vector<double> rounding_;      ///< per output of the whole graph
  std::vector<char> fixed_;           ///< per output: the same in every run
  bool attends_ = false;
  size_t drawn_ = 0;  ///< kinds of noise so far
  std::vector<Case> earlier_;         ///< for streams side by side
};

}  // namespace rill::audit
