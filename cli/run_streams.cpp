#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "cli/lanes.h"
#include "cli/reference.h"
#include "cli/run.h"
#include "cli/say_impl.h"
#include "core/base/number_text.h"

namespace rill::cli {
namespace {

using Outputs = std::vector<std::vector<Tensor>>;  ///< by turn

/// The largest difference and the largest value of one turn, over all streams.
struct IterationDifference {
  double worst = 0;
  double scale = 0;

  void add(const Tensor& got, const Tensor& want) {
    if (!is_float(want.dtype())) return;
    for (int64_t i = 0; i < want.volume(); ++i) {
      const auto a = element_as_double(got, i);
      const auto b = element_as_double(want, i);
      if (!a.ok() || !b.ok()) continue;
      worst = std::max(worst, std::abs(*a - *b));
      scale = std::max(scale, std::abs(*b));
    }
  }
};

/// Return the shortest text of a number with a power of ten: "0e0", "1.5e-7".
std::string power_text(double value) {
  const auto narrow = static_cast<float>(value);
  const float size = std::fabs(narrow);
  if (!(size > 0) || std::isinf(size)) return size == 0 ? "0e0" : str_cat(narrow);
  const Decimal decimal = shortest_decimal(size);
  std::string digits(decimal.digits, static_cast<size_t>(decimal.count));
  if (digits.size() > 1) digits.insert(1, ".");
  return str_cat(narrow < 0 ? "-" : "", digits, "e", decimal.point - 1);
}

class StreamRun {
 public:
  StreamRun(const RunOptions& options, int64_t autobatch_sessions, const Turns& turns)
      : options_(options), together_(autobatch_sessions), turns_(turns) {}

  Result<Outputs> run();

 private:
  const std::vector<Tensor>& fed(size_t stream, size_t turn) const {
    return turns_.values[(turn + stream) % turns_.values.size()];
  }
  Status check_counts() const;
  Status run_together(Lanes* lanes);
  Status run_apart(Lanes* lanes);
  Status run_one(Session* session, size_t stream);
  Status compare();
  Status report_occupancy() const;

  const RunOptions& options_;
  int64_t together_;  ///< streams that are stepped together; 0: each alone
  const Turns& turns_;
  size_t streams_ = 1;
  size_t count_ = 0;  ///< turns of each stream
  std::vector<Outputs> got_;
  std::vector<IterationDifference> differences_;
};

Status StreamRun::check_counts() const {
  if (count_ == 0) return fail(Code::kArg, "A run needs a turn at least");
  if (turns_.values.size() == 1 && streams_ > 1) {
    return fail(Code::kArg,
                "The input covers one turn, so every stream would feed the same values: "
                "give a longer input");
  }
  const auto most = static_cast<size_t>(together_);
  if (most > 0 && streams_ > most) {
    return fail(Code::kArg, counted(streams_, "stream"), " over ", most,
                " autobatch sessions: a stream holds one for its whole life");
  }
  if (most == 0 && options_.assert_occupancy > 0) {
    return fail(Code::kArg,
                "Occupancy is what an autobatched turn carries: --assert-occupancy wants "
                "--autobatch-sessions");
  }
  return {};
}

Status StreamRun::run_together(Lanes* lanes) {
  for (size_t turn = 0; turn < count_; ++turn) {
    for (size_t s = 0; s < streams_; ++s) RILL_TRY(feed(&lanes->session(s), fed(s, turn)));
    lanes->step_together();
    for (size_t s = 0; s < streams_; ++s) {
      RILL_ASSIGN(std::vector<Tensor> outputs, outputs_of(lanes->session(s)));
      got_[s].push_back(std::move(outputs));
    }
  }
  return {};
}

Status StreamRun::run_one(Session* session, size_t stream) {
  for (size_t turn = 0; turn < count_; ++turn) {
    RILL_ASSIGN(std::vector<Tensor> outputs, run_once(session, fed(stream, turn)));
    got_[stream].push_back(std::move(outputs));
  }
  return {};
}

Status StreamRun::run_apart(Lanes* lanes) {
  std::vector<Status> results(streams_);
  std::vector<std::thread> threads;
  for (size_t s = 0; s < streams_; ++s) {
    threads.emplace_back([&, s] { results[s] = run_one(&lanes->session(s), s); });
  }
  for (std::thread& thread : threads) thread.join();
  for (Status& result : results) RILL_TRY(std::move(result));
  return {};
}

Status StreamRun::compare() {
  RILL_ASSIGN(const Tolerance tolerance, tolerance_of(options_.checks));
  Session* alone = turns_.ready.session.get();
  differences_.resize(count_);
  for (size_t s = 0; s < streams_; ++s) {
    alone->reset();
    for (size_t turn = 0; turn < count_; ++turn) {
      RILL_ASSIGN(const std::vector<Tensor> want, run_once(alone, fed(s, turn)));
      for (size_t i = 0; i < want.size(); ++i) {
        const Tensor& got = got_[s][turn][i];
        differences_[turn].add(got, want[i]);
        const auto wrong = mismatch(want[i], got, tolerance, false);
        if (!wrong) continue;
        return fail(Code::kState, "Stream ", s, ", turn ", turn, ", output ", i,
                    " against running alone: ", *wrong);
      }
    }
  }
  return {};
}

Status StreamRun::report_occupancy() const {
  if (together_ == 0) return {};
  const auto occupancy = static_cast<double>(streams_);
  say("{} turns, {} seats, mean occupancy {:.2f}\n", count_, count_ * streams_, occupancy);
  if (occupancy >= options_.assert_occupancy) return {};
  return fail(Code::kState, escaped_format("Mean occupancy {:.2f} under the {} asserted", occupancy,
                                           options_.assert_occupancy));
}

Result<Outputs> StreamRun::run() {
  streams_ = static_cast<size_t>(std::max<int64_t>(1, options_.load.streams));
  count_ =
      options_.stream_steps > 0 ? static_cast<size_t>(options_.stream_steps) : turns_.values.size();
  RILL_TRY(check_counts());
  RILL_ASSIGN(Lanes lanes, Lanes::make(turns_.ready.plan, streams_));
  got_.resize(streams_);
  const auto begin = std::chrono::steady_clock::now();
  RILL_TRY(together_ > 0 ? run_together(&lanes) : run_apart(&lanes));
  const double ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  say("{} streams x {} turns in {:.0f} ms, {:.3f} ms/turn/stream\n", streams_, count_, ms,
      ms / static_cast<double>(streams_ * count_));
  RILL_TRY(report_occupancy());
  RILL_TRY(compare());
  double worst = 0;
  for (const IterationDifference& turn : differences_) worst = std::max(worst, turn.worst);
  say("worst diff against running alone: {}\n", power_text(worst));
  if (options_.per_turn_diff) {
    say("\nturn  worst abs    |want|max   relative\n");
    for (size_t turn = 0; turn < count_; ++turn) {
      const IterationDifference& each = differences_[turn];
      say("{:4}  {:>9}  {:>9}  {:>9}\n", turn, power_text(each.worst),
          power_text(each.scale), power_text(each.scale > 0 ? each.worst / each.scale : 0));
    }
  }
  return std::move(got_[0]);
}

}  // namespace

Result<std::vector<std::vector<Tensor>>> run_streams(const CommonOptions& common,
                                                     const RunOptions& options, const Graph& graph,
                                                     const InputSource& source) {
  RILL_ASSIGN(const Turns turns, turns_of(common, graph, source));
  if (turns.values.empty()) {
    return fail(Code::kArg, "the input is shorter than a pulse")
        .hint("Without --drop-partial-pulse it is filled with zeros");
  }
  return StreamRun(options, common.streaming.autobatch_sessions, turns).run();
}

}  // namespace rill::cli
