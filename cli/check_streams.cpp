#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "audit/drive.h"
#include "audit/values.h"
#include "cli/check.h"
#include "cli/commands.h"
#include "cli/exec.h"
#include "cli/first_node.h"
#include "cli/symbols.h"
#include "core/exec/saved.h"
#include "core/graph/walk.h"
#include "pulse/pulse.h"

namespace rill::cli {
namespace {

using Json = nlohmann::ordered_json;

/// What attention may differ by between pulses and a whole run: its sums have other terms of zero,
/// and are made in another order.
constexpr double kAttentionRounding = 1e-5;

/// One way of running the model, and what came of it.
struct Way {
  std::string name;
  int64_t pulse = 0;    ///< 0: the whole run
  int64_t outputs = 0;  ///< that were compared
  int64_t frames = 0;   ///< elements of those, if they do not stream
  bool same_bits = true;
  std::string problem;  ///< empty if all is well
  std::string refused;  ///< why there is nothing to compare, where that is no fault
};

/// The model with one pulse.
struct Pulsed {
  int64_t pulse = 0;
  Ready ready;
};

/// `check`: the whole run against the references, and streams of every kind against the whole run.
class StreamsCheck {
 public:
  StreamsCheck(const Args& args, const Log& log, const Model& model)
      : args_(args),
        log_(log),
        whole_(model.whole ? *model.whole : model.graph),
        symbol_(model.stream_symbol) {}

  Status run();

 private:
  Status choose_symbol();
  Status choose_pulses();
  Status read_inputs();
  Status run_whole();
  void run_pulse(int64_t pulse);
  void run_ways(Pulsed* pulsed);
  void run_moves();
  Tolerance tolerance_for(size_t output) const;
  void compare(Way way, const Plan& plan, const Result<std::vector<Tensor>>& got);
  Result<std::vector<Tensor>> pushed(Pulsed* from, Pulsed* to, bool reset, std::string* refused);
  void find_first_node();
  Status verdict() const;
  void print() const;

  const Args& args_;
  const Log& log_;
  Graph whole_;
  std::string symbol_;
  Tolerance tolerance_;
  InputValues inputs_;
  Bindings others_;
  int64_t frames_ = 0;  ///< of the stream, in the stream symbol
  std::vector<Tensor> want_;
  std::vector<int64_t> pulses_;
  std::vector<Pulsed> pulsed_;
  std::vector<Way> ways_;
  std::optional<FirstNode> first_node_;
};

Status StreamsCheck::choose_symbol() {
  std::string text = args_.pulses;
  if (const size_t equals = text.find('='); equals != std::string::npos) {
    symbol_ = trimmed(text.substr(0, equals));
  }
  if (!symbol_.empty()) return {};
  const std::vector<std::string> symbols = symbols_of(whole_);
  const bool has_s =
      std::find(symbols.begin(), symbols.end(), kDefaultStreamSymbol) != symbols.end();
  if (has_s || symbols.size() != 1) {
    symbol_ = kDefaultStreamSymbol;
  } else {
    symbol_ = symbols[0];
  }
  return {};
}

Status StreamsCheck::choose_pulses() {
  std::string_view text = args_.pulses;
  if (const size_t equals = text.find('='); equals != std::string_view::npos) {
    text = text.substr(equals + 1);
  }
  if (trimmed(text).empty()) {
    pulse::Options options;
    options.symbol = symbol_;
    RILL_ASSIGN(const int64_t unit, pulse::least_pulse(whole_, options));
    pulses_ = {unit, 2 * unit, 5 * unit};
    return {};
  }
  for (const std::string& part : split(text, ',')) {
    const auto number = parse_dim(part);
    const auto pulse = number.ok() ? number->to_int() : std::nullopt;
    if (!pulse || *pulse < 1) {
      return fail(Code::kArg, "--pulses ", args_.pulses, ": expected pulses, as in 1,8,16");
    }
    pulses_.push_back(*pulse);
  }
  return {};
}

Status StreamsCheck::read_inputs() {
  RILL_ASSIGN(const InputSource source, InputSource::make(args_, log_));
  RILL_ASSIGN(inputs_, source.resolve(whole_, 0));
  bool told = false;
  for (const auto& [symbol, value] : inputs_.bindings) {
    if (symbol == symbol_) {
      frames_ = value;
      told = true;
    } else {
      others_.emplace_back(symbol, value);
    }
  }
  if (told) return {};
  return fail(Code::kSymbol,
              "the inputs do not tell how long the stream is: no input has the symbol ", symbol_)
      .hint("Name the symbol of the axis that streams, as in --pulses T=1,8");
}

Status StreamsCheck::run_whole() {
  RILL_ASSIGN(const Ready ready, make_ready(whole_, inputs_.bindings, true));
  RILL_ASSIGN(want_, run_once(ready.session.get(), inputs_.values));
  RILL_ASSIGN(const Bundle bundle, Bundle::read(args_.input_bundles));
  // References come from other programs, which round otherwise.
  Tolerance loose = *tolerance_named("approximate");
  if (tolerance_.absolute > loose.absolute || tolerance_.custom) loose = tolerance_;
  Way way;
  way.name = "against the references";
  for (size_t i = 0; i < want_.size(); ++i) {
    const Bundle::Item* item = bundle.find(whole_.output_names[i]);
    if (!item) continue;
    const auto wrong = mismatch(item->turns[0], want_[i], loose, true);
    way.outputs += 1;
    way.frames += want_[i].volume();
    way.same_bits &= item->turns[0].same_bits(want_[i]);
    if (wrong && way.problem.empty()) {
      way.problem = str_cat("output ", whole_.output_names[i], ": ", *wrong);
    }
  }
  if (way.outputs == 0) way.refused = "the bundle has no outputs";
  ways_.push_back(std::move(way));
  if (args_.threads == 1) return {};
  RILL_TRY(use_threads(args_.threads, ready.session.get()));
  Way shared;
  shared.name = "whole, on several threads";
  compare(std::move(shared), *ready.plan, run_once(ready.session.get(), inputs_.values));
  return {};
}

/// What an output may differ by; what the command line asks for goes first.
Tolerance StreamsCheck::tolerance_for(size_t output) const {
  Tolerance out = tolerance_;
  const bool asked = !args_.approx.empty() && args_.approx != "close";
  if (asked || tolerance_.custom) return out;
  if (!audit::attends(whole_, whole_.outputs[output], symbol_)) return out;
  out.absolute = out.relative = kAttentionRounding;
  return out;
}

void StreamsCheck::compare(Way way, const Plan& plan, const Result<std::vector<Tensor>>& got) {
  if (!got.ok()) {
    way.problem = got.error().to_string();
    ways_.push_back(std::move(way));
    return;
  }
  for (size_t i = 0; i < got->size(); ++i) {
    const std::string name(plan.outputs[i].name);
    const auto at = std::find(whole_.output_names.begin(), whole_.output_names.end(), name);
    if (at == whole_.output_names.end()) continue;
    const auto output = static_cast<size_t>(at - whole_.output_names.begin());
    const Tensor& want = want_[output];
    const int axis = plan.outputs[i].stream.axis;
    // That a stream has no frames is something to be right about, too.
    ++way.outputs;
    way.frames += axis >= 0 && axis < want.rank() ? want.extent(axis) : want.volume();
    way.same_bits &= want.same_bits((*got)[i]);
    const Tolerance tolerance = tolerance_for(output);
    const auto wrong = mismatch(want, (*got)[i], tolerance, true);
    if (!wrong || !way.problem.empty()) continue;
    way.problem =
        str_cat("output ", name, first_bad_frame(axis, want, (*got)[i], tolerance), ": ", *wrong);
  }
  if (way.problem.empty() && way.outputs == 0) way.problem = "no output was compared";
  ways_.push_back(std::move(way));
}

/// Pushes the inputs in pieces. In the middle the stream is given up and begun again, or goes on in
/// a new session that its state was loaded into.
Result<std::vector<Tensor>> StreamsCheck::pushed(Pulsed* from, Pulsed* to, bool reset,
                                                 std::string* refused) {
  const auto seed = static_cast<uint64_t>(args_.seed + 31 * from->pulse + (to ? to->pulse : 0));
  audit::PushedStream stream(inputs_.values, seed);
  RILL_ASSIGN(const auto session, Session::make(from->ready.plan));
  RILL_ASSIGN(const auto feed, Feed::make(session.get(), audit::Draw(seed).in(0, 2) * from->pulse));
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
    if (size < 0) return fail(Code::kInternal, "a state is larger than was said");
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

void StreamsCheck::run_ways(Pulsed* pulsed) {
  const Plan& plan = *pulsed->ready.plan;
  const auto way = [&](std::string name) {
    Way out;
    out.name = std::move(name);
    out.pulse = pulsed->pulse;
    return out;
  };
  StreamOptions options;
  options.nan_filler = true;
  auto steps = run_stream(pulsed->ready.session.get(), inputs_.values, frames_, options);
  compare(
      way("step by step, NaN after the end"), plan,
      steps.ok() ? Result<std::vector<Tensor>>(std::move(steps->outputs)) : steps.take_status());
  std::string refused;
  compare(way("pushed in pieces"), plan, pushed(pulsed, nullptr, false, &refused));
  compare(way("begun again in the middle"), plan, pushed(pulsed, nullptr, true, &refused));
  compare(way("saved and loaded in the middle"), plan, pushed(pulsed, pulsed, false, &refused));
}

void StreamsCheck::run_pulse(int64_t pulse) {
  pulse::Options options;
  options.symbol = symbol_;
  options.pulse = Dim(pulse);
  options.backward_chunks = args_.pulse_backward == "chunk";
  Way way;
  way.name = "pulsed";
  way.pulse = pulse;
  auto graph = pulse::pulsify(whole_, options, nullptr);
  if (!graph.ok() && !others_.empty()) {
    // Some models stream for given sizes only, such as a batch of one.
    const auto bound = bind_symbols(whole_, others_);
    if (bound.ok()) graph = pulse::pulsify(*bound, options, nullptr);
  }
  if (!graph.ok()) {
    way.problem = graph.error().to_string();
    ways_.push_back(std::move(way));
    return;
  }
  auto ready = make_ready(*graph, others_, true, args_.threads);
  if (!ready.ok()) {
    way.problem = ready.error().to_string();
    ways_.push_back(std::move(way));
    return;
  }
  pulsed_.push_back({pulse, std::move(ready).value()});
  run_ways(&pulsed_.back());
}

void StreamsCheck::run_moves() {
  for (size_t i = 0; i + 1 < pulsed_.size(); ++i) {
    for (const bool back : {false, true}) {
      Pulsed* from = &pulsed_[back ? i + 1 : i];
      Pulsed* to = &pulsed_[back ? i : i + 1];
      Way way;
      way.name = str_cat("moved to pulse ", to->pulse);
      way.pulse = from->pulse;
      std::string refused;
      auto got = pushed(from, to, false, &refused);
      if (refused.empty()) {
        compare(std::move(way), *to->ready.plan, got);
        continue;
      }
      way.refused = std::move(refused);
      ways_.push_back(std::move(way));
    }
  }
}

void StreamsCheck::find_first_node() {
  for (const Way& way : ways_) {
    if (way.problem.empty() || way.pulse == 0 || way.outputs == 0) continue;
    pulse::Options options;
    options.symbol = symbol_;
    options.pulse = Dim(way.pulse);
    options.backward_chunks = args_.pulse_backward == "chunk";
    first_node_ = first_node(whole_, options, inputs_, frames_, tolerance_);
    return;
  }
}

void StreamsCheck::print() const {
  Json out{{"schema", 1}, {"rill_version", RILL_VERSION}, {"model", args_.model}};
  out["symbol"] = symbol_;
  out["frames"] = frames_;
  out["ways"] = Json::array();
  for (const Way& way : ways_) {
    Json told{{"pulse", way.pulse == 0 ? Json(nullptr) : Json(way.pulse)},
              {"way", way.name},
              {"outputs", way.outputs},
              {"frames", way.frames},
              {"ok", way.problem.empty() && way.refused.empty()}};
    if (way.outputs > 0) told["same_bits"] = way.same_bits;
    if (!way.problem.empty()) told["problem"] = way.problem;
    if (!way.refused.empty()) told["skipped"] = way.refused;
    out["ways"].push_back(std::move(told));
    if (args_.json || args_.quiet) continue;
    const std::string pulse = way.pulse == 0 ? "whole" : fmt::format("{}={}", symbol_, way.pulse);
    std::string verdict = way.same_bits ? "same bits" : "close";
    if (!way.refused.empty()) verdict = "skipped: " + way.refused;
    if (!way.problem.empty()) verdict = "FAILED: " + way.problem;
    fmt::print("{:<8} {:<34} {} outputs: {}\n", pulse, way.name, way.outputs, verdict);
  }
  out["first_node"] = nullptr;
  if (first_node_) {
    out["first_node"] = {{"name", first_node_->name},
                         {"op", first_node_->op},
                         {"line", first_node_->line},
                         {"what", first_node_->what}};
    if (!args_.json && !args_.quiet) {
      fmt::print("first node that differs: {}\n", first_node_->to_string());
    }
  }
  if (args_.json) fmt::print("{}\n", out.dump(2, ' ', false, Json::error_handler_t::replace));
}

Status StreamsCheck::verdict() const {
  int64_t compared = 0;
  int64_t failed = 0;
  std::string first;
  for (const Way& way : ways_) {
    if (way.pulse > 0) compared += way.outputs;
    if (way.problem.empty()) continue;
    ++failed;
    if (first.empty()) {
      first = way.pulse == 0 ? way.name : str_cat("pulse ", way.pulse, ", ", way.name);
      first += ": " + way.problem;
    }
  }
  if (failed > 0) {
    Status status =
        fail(Code::kState, failed, " of ", ways_.size(), " ways failed. First: ", first);
    return first_node_ ? std::move(status).in_node(first_node_->name, first_node_->op) : status;
  }
  if (compared == 0) return fail(Code::kState, "no output of a stream was compared");
  if (!args_.json && !args_.quiet) {
    fmt::print("{} ways, {} outputs compared, none differs\n", ways_.size(), compared);
  }
  return {};
}

Status StreamsCheck::run() {
  RILL_ASSIGN(tolerance_, tolerance_of(args_));
  RILL_TRY(choose_symbol());
  RILL_TRY(choose_pulses());
  RILL_TRY(read_inputs());
  RILL_TRY(run_whole());
  pulsed_.reserve(pulses_.size());
  for (const int64_t pulse : pulses_) run_pulse(pulse);
  run_moves();
  find_first_node();
  print();
  return verdict();
}

}  // namespace

Status check_command(const Args& args, const Log& log, const Model& model) {
  if (model.pulsed() && !model.whole) {
    return fail(Code::kPulse, args.model,
                " is pulsed already: the whole model, to check against, is not at hand");
  }
  return StreamsCheck(args, log, model).run();
}

}  // namespace rill::cli
