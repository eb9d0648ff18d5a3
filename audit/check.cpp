#include "audit/check.h"

#include <algorithm>

#include "audit/drive.h"
#include "audit/prepared.h"
#include "audit/values.h"
#include "core/base/progress.h"
#include "core/base/search.h"
#include "core/exec/feed.h"
#include "core/exec/input_indices.h"
#include "core/exec/saved.h"
#include "pulse/pulse.h"

namespace rill::audit {
namespace {

constexpr double kAttentionRounding = 1e-5;

using Mode = CheckedMode;

/// Return the inputs with their numbers in reverse order; noise if that gives the same input.
Result<std::vector<Tensor>> other_inputs(const Graph& graph, std::span<const Tensor> inputs) {
  std::vector<Tensor> out;
  bool same = true;
  for (const Tensor& input : inputs) {
    RILL_ASSIGN(Tensor value, copy_of(input.view()));
    const auto size = dtype_size(value.dtype());
    auto* const bytes = value.view().as<std::byte>();
    for (int64_t i = 0, j = value.volume() - 1; i < j; ++i, --j) {
      std::swap_ranges(bytes + i * size, bytes + (i + 1) * size, bytes + j * size);
    }
    same &= value.same_bits(input);
    out.push_back(std::move(value));
  }
  Draw draw(1);
  const auto indices = input_indices(graph);
  for (size_t i = 0; same && i < out.size(); ++i) {
    Fact fact = graph.fact(graph.inputs[i]);
    fact.shape.assign(out[i].shape().begin(), out[i].shape().end());
    RILL_ASSIGN(out[i], noise(fact, indices[i], &draw));
  }
  return out;
}

/// The model with one pulse.
struct Pulsed {
  int64_t pulse = 0;
  Ready ready;
};

class Check {
 public:
  Check(const Graph& whole, std::span<const Tensor> inputs, const Bindings& bindings,
        const CheckOptions& options)
      : whole_(whole), inputs_(inputs), bindings_(bindings), options_(options) {}

  Result<CheckReport> run();

 private:
  Status read_bindings();
  Status choose_pulses();
  Status run_whole();
  void check_references();
  Status find_unproven(const Plan& plan, Session* other);
  void run_pulse(int64_t pulse);
  void run_modes(Pulsed* pulsed);
  void run_moves();
  pulse::Options pulsing(int64_t pulse) const;
  Tolerance tolerance_for(size_t output) const;
  void compare(Mode mode, const Plan& plan, const Result<std::vector<Tensor>>& got);
  Result<std::vector<Tensor>> pushed(Pulsed* from, Pulsed* to, bool reset, std::string* refused);
  void add_failed(Mode mode, const Error& error);
  void find_first_node();

  const Graph& whole_;
  std::span<const Tensor> inputs_;
  const Bindings& bindings_;
  const CheckOptions& options_;
  Bindings others_;  ///< all but the stream symbol
  std::vector<Tensor> want_;
  std::vector<int64_t> pulses_;
  SharedWeights weights_;
  std::vector<Pulsed> pulsed_;
  bool out_of_memory_ = false;
  CheckReport report_;
};

Status Check::read_bindings() {
  report_.symbol = options_.symbol;
  bool found = false;
  for (const auto& [symbol, value] : bindings_) {
    if (symbol == options_.symbol) {
      report_.frames = value;
      found = true;
    } else {
      others_.emplace_back(symbol, value);
    }
  }
  if (found) return {};
  return fail(Code::kSymbol,
              "the inputs do not give the length of the stream: no input has the symbol ",
              options_.symbol)
      .hint("Name the symbol of the axis that streams");
}

Status Check::choose_pulses() {
  pulses_ = options_.pulses;
  if (!pulses_.empty()) return {};
  RILL_ASSIGN(const int64_t unit, pulse::least_pulse(whole_, pulsing(1)));
  pulses_ = {unit, 2 * unit, 5 * unit};
  return {};
}

pulse::Options Check::pulsing(int64_t pulse) const {
  pulse::Options out;
  out.symbol = options_.symbol;
  out.pulse = Dim(pulse);
  out.backward_chunks = options_.backward_chunks;
  return out;
}

void Check::check_references() {
  // Other programs round differently.
  Tolerance loose = *tolerance_named("approximate");
  const Tolerance& asked = options_.tolerance;
  if (asked.absolute > loose.absolute || asked.custom) loose = asked;
  Mode mode;
  mode.name = "against the references";
  for (size_t i = 0; i < want_.size() && i < options_.references.size(); ++i) {
    const Tensor* reference = options_.references[i];
    if (!reference) continue;
    const auto wrong = mismatch(*reference, want_[i], loose, true);
    mode.outputs += 1;
    mode.frames += want_[i].volume();
    mode.same_bits &= reference->same_bits(want_[i]);
    if (wrong && mode.problem.empty()) {
      mode.problem = str_cat("output ", whole_.output_names[i], ": ", *wrong);
    }
  }
  if (mode.outputs == 0) mode.refused = "there are no reference outputs";
  report_.modes.push_back(std::move(mode));
}

Status Check::run_whole() {
  RILL_ASSIGN(const Ready ready, make_ready(whole_, bindings_, true, 1, &weights_));
  RILL_ASSIGN(want_, run_drawn(ready.session.get(), inputs_));
  check_references();
  RILL_ASSIGN(const auto session, Session::make(ready.plan));
  RILL_TRY(find_unproven(*ready.plan, session.get()));
  if (options_.threads == 1) return {};
  RILL_TRY(use_threads(options_.threads, ready.session.get()));
  Mode shared;
  shared.name = "whole, on several threads";
  compare(std::move(shared), *ready.plan, run_drawn(ready.session.get(), inputs_));
  return {};
}

Status Check::find_unproven(const Plan& plan, Session* session) {
  RILL_ASSIGN(const auto inputs, other_inputs(whole_, inputs_));
  RILL_ASSIGN(const auto other, run_drawn(session, inputs));
  for (size_t i = 0; i < want_.size(); ++i) {
    const std::string name(plan.outputs[i].name);
    if (want_[i].empty() || !depends_on_inputs(whole_, whole_.outputs[i])) continue;
    if (varied_frames(want_[i], other[i], -1) == 0) report_.unproven.push_back(name);
  }
  return {};
}

Tolerance Check::tolerance_for(size_t output) const {
  Tolerance out = options_.tolerance;
  if (options_.for_all || !attends(whole_, whole_.outputs[output], options_.symbol)) return out;
  out.absolute = out.relative = kAttentionRounding;
  return out;
}

/// A run that cannot be made counts as a failure, except when memory ran out.
void Check::add_failed(Mode mode, const Error& error) {
  if (error.code == Code::kNoMem) out_of_memory_ = true;
  mode.problem = error.to_string();
  report_.modes.push_back(std::move(mode));
}

void Check::compare(Mode mode, const Plan& plan, const Result<std::vector<Tensor>>& got) {
  if (!got.ok()) return add_failed(std::move(mode), got.error());
  for (size_t i = 0; i < got->size(); ++i) {
    const std::string name(plan.outputs[i].name);
    const auto at = find(whole_.output_names, name);
    if (at == whole_.output_names.end()) continue;
    const auto output = static_cast<size_t>(at - whole_.output_names.begin());
    const Tensor& want = want_[output];
    const int axis = plan.outputs[i].stream.axis;
    // An empty stream also has to be right.
    ++mode.outputs;
    mode.frames += axis >= 0 && axis < want.rank() ? want.extent(axis) : want.volume();
    mode.same_bits &= want.same_bits((*got)[i]);
    const Tolerance tolerance = tolerance_for(output);
    const auto wrong = mismatch(want, (*got)[i], tolerance, true);
    if (!wrong || !mode.problem.empty()) continue;
    mode.problem =
        str_cat("output ", name, first_bad_frame(axis, want, (*got)[i], tolerance), ": ", *wrong);
  }
  if (mode.problem.empty() && mode.outputs == 0) mode.problem = "no output was compared";
  report_.modes.push_back(std::move(mode));
}

/// Push the inputs in pieces. In the middle, abandon the stream and begin again, or continue in a
/// new session that loads its state.
Result<std::vector<Tensor>> Check::pushed(Pulsed* from, Pulsed* to, bool reset,
                                                 std::string* refused) {
  const auto seed = static_cast<uint64_t>(31 * from->pulse + (to ? to->pulse : 0)) + options_.seed;
  PushedStream stream(inputs_, seed);
  RILL_ASSIGN(const auto session, Session::make(from->ready.plan));
  RILL_ASSIGN(const auto feed, Feed::make(session.get(), Draw(seed).in(0, 2) * from->pulse));
  stream.attach(session.get(), feed.get());
  std::unique_ptr<Session> next;
  std::unique_ptr<Feed> next_feed;
  bool done = !reset && !to;
  while (stream.step()) {
    if (done || !stream.past(50)) continue;
    done = true;
    if (reset) {
      session->reset();
      feed->reset();
      stream.restart();
      stream.attach(session.get(), feed.get());
      continue;
    }
    RILL_ASSIGN(next, Session::make(to->ready.plan));
    RILL_ASSIGN(next_feed, Feed::make(next.get(), 0));
    SavedState saved(session.get(), feed.get());
    std::vector<std::byte> bytes(static_cast<size_t>(saved.most_bytes()));
    const int64_t size = saved.save(bytes);
    if (size < 0) return fail(Code::kInternal, "a state is larger than its announced size");
    const Status loaded =
        SavedState(next.get(), next_feed.get()).load({bytes.data(), static_cast<size_t>(size)});
    if (!loaded.ok() && from->pulse != to->pulse && loaded.code() == Code::kState) {
      *refused = loaded.error().to_string();
      return std::vector<Tensor>();
    }
    RILL_TRY(loaded);
    stream.attach(next.get(), next_feed.get());
  }
  RILL_TRY(stream.finish());
  return stream.outputs();
}

void Check::run_modes(Pulsed* pulsed) {
  const Plan& plan = *pulsed->ready.plan;
  const auto mode = [&](std::string name) {
    Mode out;
    out.name = std::move(name);
    out.pulse = pulsed->pulse;
    return out;
  };
  StreamOptions options;
  options.nan_filler = true;
  auto steps = run_stream(pulsed->ready.session.get(), inputs_, report_.frames, options);
  compare(
      mode("step by step, NaN after the end"), plan,
      steps.ok() ? Result<std::vector<Tensor>>(std::move(steps->outputs)) : steps.take_status());
  std::string refused;
  compare(mode("pushed in pieces"), plan, pushed(pulsed, nullptr, false, &refused));
  compare(mode("restarted in the middle"), plan, pushed(pulsed, nullptr, true, &refused));
  compare(mode("saved and loaded in the middle"), plan, pushed(pulsed, pulsed, false, &refused));
}

void Check::run_pulse(int64_t pulse) {
  const pulse::Options options = pulsing(pulse);
  Mode mode;
  mode.name = "pulsed";
  mode.pulse = pulse;
  auto graph = pulse::pulsify(whole_, options, nullptr);
  if (!graph.ok() && !others_.empty()) {
    // Some models stream for given sizes only, such as a batch of one.
    const auto bound = bind_symbols(whole_, others_);
    if (bound.ok()) graph = pulse::pulsify(*bound, options, nullptr);
  }
  if (!graph.ok()) return add_failed(std::move(mode), graph.error());
  auto ready = make_ready(*graph, others_, true, options_.threads, &weights_);
  if (!ready.ok()) return add_failed(std::move(mode), ready.error());
  pulsed_.push_back({pulse, std::move(ready).value()});
  run_modes(&pulsed_.back());
}

void Check::run_moves() {
  for (size_t i = 0; i + 1 < pulsed_.size(); ++i) {
    for (const bool back : {false, true}) {
      Pulsed* from = &pulsed_[back ? i + 1 : i];
      Pulsed* to = &pulsed_[back ? i : i + 1];
      Mode mode;
      mode.name = str_cat("moved to pulse ", to->pulse);
      mode.pulse = from->pulse;
      std::string refused;
      auto got = pushed(from, to, false, &refused);
      if (refused.empty()) {
        compare(std::move(mode), *to->ready.plan, got);
        continue;
      }
      mode.refused = std::move(refused);
      report_.modes.push_back(std::move(mode));
    }
  }
}

void Check::find_first_node() {
  for (const Mode& mode : report_.modes) {
    if (mode.problem.empty() || mode.pulse == 0 || mode.outputs == 0) continue;
    report_.first_node = first_node(whole_, pulsing(mode.pulse), inputs_, bindings_, report_.frames,
                                    options_.tolerance);
    return;
  }
}

Result<CheckReport> Check::run() {
  const ProgressStage stage(Stage::kCheck);
  RILL_TRY(read_bindings());
  RILL_TRY(choose_pulses());
  RILL_TRY(run_whole());
  pulsed_.reserve(pulses_.size());
  for (const int64_t pulse : pulses_) {
    RILL_TRY(progress(1 + pulsed_.size(), pulses_.size() + 2));
    run_pulse(pulse);
  }
  RILL_TRY(progress(1 + pulses_.size(), pulses_.size() + 2));
  run_moves();
  if (out_of_memory_) return fail(Code::kNoMem, "no memory to run all modes of the check");
  find_first_node();
  RILL_TRY(progress(1));
  return std::move(report_);
}

}  // namespace

int64_t CheckReport::compared() const {
  int64_t out = 0;
  for (const Mode& mode : modes) out += mode.pulse > 0 ? mode.outputs : 0;
  return out;
}

Status CheckReport::verdict() const {
  int64_t failed = 0;
  std::string first;
  for (const Mode& mode : modes) {
    if (mode.problem.empty()) continue;
    ++failed;
    if (!first.empty()) continue;
    first = mode.pulse == 0 ? mode.name : str_cat("pulse ", mode.pulse, ", ", mode.name);
    first += ": " + mode.problem;
  }
  if (failed > 0) {
    Status status =
        fail(Code::kState, failed, " of ", modes.size(), " modes failed. First: ", first);
    return first_node ? std::move(status).in_node(first_node->name, first_node->op) : status;
  }
  if (compared() == 0) return fail(Code::kState, "no output of a stream was compared");
  if (unproven.empty()) return {};
  return fail(Code::kState, not_proven(unproven))
      .hint("Give inputs for which it has finite numbers that change with them");
}

Result<CheckReport> check(const Graph& whole, std::span<const Tensor> inputs,
                          const Bindings& bindings, const CheckOptions& options) {
  return Check(whole, inputs, bindings, options).run();
}

}  // namespace rill::audit
