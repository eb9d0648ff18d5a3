#include "audit/audit.h"

#include <algorithm>
#include <set>

#include "audit/drive.h"
#include "audit/lengths.h"
#include "audit/values.h"
#include "audit/modes.h"
#include "core/base/sorted.h"
#include "core/optim/optim.h"
#include "pulse/pulse.h"
#include "pulse/before/ties.h"
#include "pulse/sliding.h"

namespace rill::audit {
namespace {

/// Replace all symbols but that of the stream.
Result<Graph> bound(const Graph& graph, const std::string& symbol, const Bindings& values) {
  RILL_ASSIGN(Graph out, pulse::with_ties(graph, symbol));
  for (const std::string& name : std::vector<std::string>(graph.scope.symbols())) {
    if (name == symbol) continue;
    int64_t value = 2;
    for (const auto& [other, given] : values) {
      if (other == name) value = given;
    }
    auto next = out.with_symbol(name, Dim(value));
    if (!next.ok()) {
      return next.take_status().hint(
          str_cat("This is with ", name, "=", value, ": bind ", name, " to a size of the model"));
    }
    out = std::move(next).value();
  }
  return declutter(out);
}

/// Return the frames that a stream of that length steps, including its tail, in the stream symbol.
double frames_stepped(const Plan& plan, int64_t length) {
  auto out = static_cast<double>(length);
  for (const PlanIo& io : plan.outputs) {
    const PlanStream& stream = io.stream;
    const int64_t frames = stream.length.at(length).value_or(0);
    if (stream.axis < 0 || stream.pulse == 0 || frames <= 0) continue;
    const double rate = static_cast<double>(plan.stream_pulse) / static_cast<double>(stream.pulse);
    out = std::max(out, static_cast<double>(stream.delay + frames) * rate);
  }
  return out;
}

int64_t streams_of(const Report& report) {
  int64_t out = 0;
  for (const auto& [mode, streams] : report.modes) out += streams;
  return out;
}

/// Return the remedy for an audit whose time ended too early.
std::string out_of_time(double seconds) {
  return str_cat("The ", seconds, " seconds of the audit ended first. Give it more, as in `audit "
                 "--seconds ", 10 * seconds, "`");
}

class Auditor {
 public:
  Auditor(Modes modes, const Graph& whole, const Options& options, Deadline until)
      : modes_(std::move(modes)),
        whole_(whole),
        options_(options),
        draw_(options.seed),
        until_(until) {
    const Plan& plan = modes_.plan();
    report_.symbol = plan.stream_symbol;
    report_.pulse = plan.stream_pulse;
  }

  Result<Report> run();

 private:
  void go_through(std::vector<int64_t> lengths, int64_t* compared);
  void try_length(int64_t length, int64_t* compared);
  void cross_windows();
  void compare_late();
  std::vector<int64_t> remainders();
  bool time_for(int64_t length);
  bool done() const { return report_.finding || exhausted_; }

  Modes modes_;
  const Graph& whole_;
  const Options& options_;
  Draw draw_;
  Report report_;
  Lengths known_;
  std::set<int64_t> tried_;
  Deadline until_;
  const double seconds_ = until_.left();
  double seconds_per_frame_ = 0;  ///< of one stream
  bool exhausted_ = false;
};

bool Auditor::time_for(int64_t length) {
  if (static_cast<int64_t>(report_.lengths.size()) >= options_.lengths || until_.passed()) {
    exhausted_ = true;
    return false;
  }
  // A length needs at least two whole runs and a stream. Skip a length if these would take all the
  // remaining time; shorter ones may follow.
  return 3 * seconds_per_frame_ * frames_stepped(modes_.plan(), length) < until_.left();
}

void Auditor::try_length(int64_t length, int64_t* compared) {
  if (length < 1 || length > report_.longest || tried_.contains(length)) return;
  if (!time_for(length)) return;
  // A cancelled audit ends with an error in any case: see `run`.
  const double spent = 1 - until_.left() / seconds_;
  if (!progress(spent < 0 ? 1 : spent).ok()) return;
  tried_.insert(length);
  const double left = until_.left();
  const int64_t before = streams_of(report_);
  const auto tried = modes_.compare(length, report_.lengths.size() < 4, &draw_, &report_);
  if (!tried.ok()) {
    report_.undefined += 1;
    report_.why_undefined = tried.error().to_string();
    return;
  }
  const int64_t streams = streams_of(report_) - before;
  if (streams == 0 && !report_.finding) return;
  // Short streams are mostly overhead, so they do not show the cost of a frame.
  const double frames = frames_stepped(modes_.plan(), length);
  if (streams > 0 && frames > 256) {
    seconds_per_frame_ = (left - until_.left()) / static_cast<double>(streams) / frames;
  }
  report_.lengths.push_back(length);
  if (compared) *compared += 1;
}

void Auditor::go_through(std::vector<int64_t> lengths, int64_t* compared) {
  for (const int64_t length : lengths) {
    if (done()) return;
    try_length(length, compared);
  }
}

/// Compare the shortest streams that cross every window first. If a window is too long for the
/// time, leave a fifth of the time for shorter streams.
void Auditor::cross_windows() {
  // Skip lengths beyond the audit's maximum.
  int64_t first = 0;
  for (const Window& window : report_.windows) {
    if (window.crossed <= report_.longest) first = std::max(first, window.crossed);
  }
  if (first == 0) return;
  constexpr double kPart = 0.8;
  constexpr int64_t kMostTries = 64;
  constexpr int64_t kFirstFrames = 1024;
  modes_.end_by(Deadline(kPart * until_.left()));
  // First learn the cost of a frame from a short stream, because a whole run cannot be interrupted.
  if (first > 8 * kFirstFrames) try_length(kFirstFrames, nullptr);
  const size_t shorter = report_.lengths.size();
  // The model may be defined only for some remainders of the period.
  for (int64_t more = 0; more < std::min(kMostTries, known_.period); ++more) {
    const int64_t given_up = report_.given_up;
    try_length(first + more, nullptr);
    if (done() || report_.lengths.size() > shorter || report_.given_up > given_up) break;
  }
  modes_.end_by(until_);
}

/// Compare one short stream although the time is over, so that a slow machine compares something.
void Auditor::compare_late() {
  until_ = Deadline();
  modes_.end_by(until_);
  exhausted_ = false;
  tried_.clear();
  go_through({2 * report_.pulse + 1}, nullptr);
}

/// Return one length past all edges for every remainder of the period, in random order, before the
/// end of the model's tables if it has any.
std::vector<int64_t> Auditor::remainders() {
  const int64_t longest = std::min(options_.longest, modes_.plan().longest);
  const int64_t first = std::min(known_.settled, longest - known_.period) + 1;
  std::vector<int64_t> out;
  for (int64_t i = 0; i < std::min<int64_t>(known_.period, options_.lengths); ++i) {
    out.push_back(std::max<int64_t>(1, first + i));
  }
  for (size_t i = out.size(); i-- > 1;) {
    std::swap(out[i], out[static_cast<size_t>(draw_.in(0, static_cast<int64_t>(i)))]);
  }
  return out;
}

Result<Report> Auditor::run() {
  const Plan& plan = modes_.plan();
  known_ = lengths_of(whole_, plan, options_.longest);
  report_.edges = static_cast<int64_t>(known_.edges.size());
  report_.period = known_.period;
  report_.settled = known_.settled;
  report_.open = known_.open;
  const int64_t pulse = plan.stream_pulse;
  report_.windows = windows_of(plan);
  // If tables end, the last period has the longest streams.
  const int64_t last = std::max<int64_t>(1, plan.longest - known_.period + 1);
  for (Window& window : report_.windows) window.crossed = std::min(window.crossed, last);
  report_.longest = std::max(options_.longest, options_.longest_crossing);
  cross_windows();
  go_through({1, 2 * pulse + 1, pulse, 3 * pulse - 1, pulse + 1}, nullptr);
  // Alternate edges and remainders, so that a short budget covers some of both.
  std::vector<int64_t> edges = known_.edges;
  std::vector<int64_t> rest = remainders();
  for (size_t i = 0; i < std::max(edges.size(), rest.size()) && !done(); ++i) {
    if (i < edges.size()) go_through({edges[i]}, nullptr);
    if (i < rest.size()) go_through({rest[i]}, &report_.remainders);
  }
  int64_t far = std::min(options_.longest, 2 * known_.settled + 16 * pulse);
  if (!report_.windows.empty()) far = std::max(far, report_.windows[0].crossed + 2 * pulse);
  far = std::min(far, report_.longest);
  for (int i = 0; i < 64 && !done(); ++i) go_through({draw_.log_in(1, far)}, nullptr);
  const bool late = until_.passed();
  if (!report_.finding && report_.varied.empty() && late) compare_late();
  sort_list(report_.lengths);
  report_.edges_compared = std::count_if(edges.begin(), edges.end(), [&](int64_t edge) {
    return std::binary_search(report_.lengths.begin(), report_.lengths.end(), edge);
  });
  // Count edges at which the model is undefined separately.
  report_.edges -= std::count_if(edges.begin(), edges.end(),
                                 [&](int64_t edge) { return tried_.contains(edge); });
  report_.edges += report_.edges_compared;
  RILL_TRY(progress(1));
  if (report_.finding || !report_.varied.empty()) return std::move(report_);
  Status nothing = fail(Code::kState, "the audit compared no output: ", report_.lengths.size(),
                        " lengths gave none, ", report_.undefined, " are not defined, ",
                        report_.refused, " are refused, ", report_.given_up, " took too long");
  // Lengths for which there was no time prove nothing about the model.
  if (late) {
    return std::move(nothing).hint(out_of_time(options_.seconds));
  }
  const std::string& why =
      report_.why_undefined.empty() ? report_.why_refused : report_.why_undefined;
  if (!why.empty()) return std::move(nothing).hint(str_cat("The last reason: ", why));
  return std::move(nothing).hint("Give the audit more seconds");
}

}  // namespace

std::string Finding::to_string() const {
  return str_cat("pulse ", pulse, ", length ", length, ", ", mode,
                 output.empty() ? std::string() : str_cat(", output ", output), ": ", what);
}

namespace {

/// Describe the streams that were too long to compare, and the windows that only they cross.
std::string not_reached(const Report& report) {
  const std::vector<Window> windows = report.uncrossed();
  const Window& widest = windows[0];
  std::string out = str_cat("streams of ", widest.crossed, " of ", report.symbol,
                            " and more, which cross the window of ", widest.frames,
                            " frames of \"", widest.wire, "\"");
  if (windows.size() > 1) out += str_cat(" and ", windows.size() - 1, " more");
  if (report.lengths.empty()) return out;
  return str_cat(out, "; the longest stream compared has ", report.lengths.back());
}

}  // namespace

std::vector<std::string> Report::unproven() const {
  std::vector<std::string> out;
  for (const auto& [output, each] : varied) {
    if (each == 0) out.push_back(output);
  }
  return out;
}

std::vector<Window> Report::uncrossed() const {
  const int64_t reached = lengths.empty() ? 0 : lengths.back();
  std::vector<Window> out;
  for (const Window& window : windows) {
    if (window.crossed > reached) out.push_back(window);
  }
  return out;
}

Outcome Report::outcome() const {
  if (finding) return Outcome::kDiffers;
  if (!unproven().empty()) return Outcome::kUnproven;
  return uncrossed().empty() ? Outcome::kSame : Outcome::kNotReached;
}

Status Report::verdict() const {
  switch (outcome()) {
    case Outcome::kSame:
      return {};
    case Outcome::kDiffers:
      return fail(Code::kState, "the stream differs from the whole run: ", finding->to_string());
    case Outcome::kUnproven:
      return fail(Code::kState, not_proven(unproven()))
          .hint("Elements were the same for all noise from 1e-3 to 1e4, or no finite numbers: "
                "audit the model without the nodes that clamp or threshold them");
    case Outcome::kNotReached:
      break;
  }
  Status out = fail(Code::kState, "not compared: ", not_reached(*this));
  if (windows[0].crossed > longest) {
    return std::move(out).hint(
        str_cat("An audit makes no streams of more than ", longest, " of ", symbol));
  }
  return std::move(out).hint(
      "Give the audit more seconds, or a longer pulse, which takes fewer steps");
}

std::string Report::to_string() const {
  if (finding) return finding->to_string();
  std::string out =
      str_cat(lengths.size(), " lengths of ", symbol, " from ", lengths.empty() ? 0 : lengths[0],
              " to ", lengths.empty() ? 0 : lengths.back(), ", ", edges_compared, " of ", edges,
              " edges and ", remainders, " of ", period, " remainders, ",
              counted(outputs, "output"), ", ", frames, " frames");
  for (const auto& [mode, streams] : modes) out += str_cat(", ", streams, " ", mode);
  if (open > 0) out += str_cat(", ", open, " lengths of wires have an unknown period");
  if (undefined > 0) out += str_cat(", ", undefined, " lengths are not defined");
  if (refused > 0) {
    out += str_cat(", the stream refuses ", refused, " lengths that the whole graph takes: ",
                   why_refused);
  }
  if (not_moved > 0) out += str_cat(", ", counted(not_moved, "state"), " could not move");
  if (const auto blind = unproven(); !blind.empty()) out += ", " + not_proven(blind);
  if (!uncrossed().empty()) out += ", not compared: " + not_reached(*this);
  if (given_up > 0) {
    out += str_cat(", ", given_up, given_up == 1 ? " stream was" : " streams were",
                   " given up as the time was over");
  }
  return out;
}

namespace {

Result<std::shared_ptr<const Plan>> planned(const Graph& graph, const std::string& symbol,
                                            const Bindings& values, SharedWeights* weights) {
  RILL_ASSIGN(const Graph simple, bound(graph, symbol, values));
  return prepare_sharing(weights, simple);
}

}  // namespace

Result<Report> audit(const Graph& whole, const Graph& pulsed, const Options& options) {
  if (!pulsed.streaming) return fail(Code::kPulse, "the graph to audit is not pulsed");
  const ProgressStage stage(Stage::kAudit);
  const Deadline until(options.seconds);
  const std::string symbol = pulsed.streaming->symbol();
  SharedWeights weights;
  std::vector<std::shared_ptr<const Plan>> plans(1);
  RILL_ASSIGN(plans[0], planned(pulsed, symbol, options.others, &weights));
  const int64_t bytes = PlacedSession::bytes_for(*plans[0]);
  if (bytes > options.session_bytes) {
    return fail(Code::kNoMem, "a stream takes ", bytes, " bytes, and an audit holds several: "
                "expected at most ", options.session_bytes, " bytes")
        .hint("A shorter pulse takes less, unless the model itself looks back that far");
  }
  pulse::Options other;
  other.symbol = symbol;
  for (const int64_t times : options.multiples) {
    if (until.passed() || pulse::window_of(pulsed)) break;
    other.pulse = Dim(times * plans[0]->stream_pulse);
    const auto graph = pulse::pulsify(whole, other);
    if (!graph.ok()) continue;
    RILL_ASSIGN(std::shared_ptr<const Plan> plan,
                planned(*graph, symbol, options.others, &weights));
    if (PlacedSession::bytes_for(*plan) > options.session_bytes) continue;
    plans.push_back(std::move(plan));
  }
  RILL_ASSIGN(const Graph simple, bound(whole, symbol, options.others));
  RILL_ASSIGN(Modes modes, Modes::make(simple, pulsed, std::move(plans), &weights, options, until));
  return Auditor(std::move(modes), simple, options, until).run();
}

}  // namespace rill::audit
