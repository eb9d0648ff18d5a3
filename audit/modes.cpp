#include "audit/modes.h"

#include "core/base/search.h"
#include "core/exec/saved.h"
#include "core/optim/optim.h"
#include "core/run/denormals.h"
#include "pulse/sliding.h"

namespace rill::audit {
namespace {

/// The names of the modes, as reports have them.
constexpr const char* kSteps = "stepped";
constexpr const char* kSideBySide = "side by side";

/// Return whether allocating a session already exceeds the deadline: its memory is zeroed page by
/// page.
bool allocation_takes_too_long(const Plan& plan, Deadline until) {
  constexpr double kBytesPerSecond = 2e9;
  return static_cast<double>(Session::bytes_for(plan)) / kBytesPerSecond > until.left();
}

/// Run a plan once, one plan step at a time; return false if abandoned.
bool run_once(Session* session, Deadline until) {
  const FlushDenormals flush;
  for (size_t i = 0; i < session->plan().steps.size(); ++i) {
    if (until.passed()) return false;
    session->run_layer(i);
  }
  session->end_step();
  return true;
}

bool asserts_otherwise(const Graph& whole, const std::string& symbol, int64_t length) {
  for (const auto& assertion : whole.scope.assertions()) {
    for (const Dim& dim : assertion.non_negative) {
      if (dim.eval({{symbol, length}}).value_or(0) < 0) return true;
    }
  }
  return false;
}

}  // namespace

Outputs run_whole(const Graph& graph, const std::string& symbol, int64_t length,
                  std::span<const Tensor> inputs, SharedWeights* weights, Deadline until) {
  if (asserts_otherwise(graph, symbol, length)) {
    return fail(Code::kShape, "the model asserts that there is no stream of ",
                counted(length, "frame"));
  }
  RILL_ASSIGN(const Graph bound, graph.with_symbol(symbol, Dim(length)));
  RILL_ASSIGN(const Graph simple, declutter(bound));
  RILL_ASSIGN(std::shared_ptr<const Plan> plan, prepare_sharing(weights, simple));
  if (allocation_takes_too_long(*plan, until)) return Outputs(std::nullopt);
  RILL_ASSIGN(const auto session, Session::make(std::move(plan)));
  for (size_t i = 0; i < inputs.size(); ++i) {
    RILL_TRY(check_fit(session->plan().inputs[i], inputs[i], -1));
    copy_view(inputs[i].view(), session->input(i));
  }
  if (!run_once(session.get(), until)) return Outputs(std::nullopt);
  std::vector<Tensor> out;
  for (size_t i = 0; i < session->plan().outputs.size(); ++i) {
    RILL_ASSIGN(Tensor value, copy_of(session->output(i)));
    out.push_back(std::move(value));
  }
  return Outputs(std::move(out));
}

Result<Modes> Modes::make(const Graph& whole, const Graph& pulsed,
                          std::vector<std::shared_ptr<const Plan>> plans, SharedWeights* weights,
                          const Options& options, Deadline until) {
  Modes out(whole, pulsed, std::move(plans), weights, until);
  if (pulse::window_of(pulsed)) {
    out.windows_ = options.windows;
    if (!out.windows_) {
      return fail(Code::kPulse, "the graph computes windows, which this program does not audit");
    }
  }
  if (out.plan().stream_symbol.empty() || out.plan().inputs.size() != whole.inputs.size()) {
    return fail(Code::kPulse, "the pulsed graph does not have the inputs of the whole graph");
  }
  RILL_ASSIGN(out.session_, Session::make(out.plans_[0]));
  for (const OutletId& output : whole.outputs) {
    const bool rounds = !out.windows_ && attends(whole, output, out.plan().stream_symbol);
    out.rounding_.push_back(rounds ? options.attention_rounding : 0.0);
    out.attends_ |= rounds;
    out.fixed_.push_back(static_cast<char>(!depends_on_inputs(whole, output)));
  }
  return out;
}

/// Compare the outputs of a stream, matched by name.
void Modes::judge(const Case& at, const char* mode, const Outputs& got, Report* report) {
  if (report->finding) return;
  if (got.ok() && !got->has_value()) {
    report->given_up += 1;
    return;
  }
  Finding finding{at.length, plan().stream_pulse, mode, {}, {}};
  if (!got.ok()) {
    finding.what = got.error().to_string();
    report->finding = std::move(finding);
    return;
  }
  report->modes[mode] += 1;
  const std::vector<Tensor>& outputs = **got;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto& names = whole_.output_names;
    const auto named = find(names, plan().outputs[i].name);
    const auto output = static_cast<size_t>(named - names.begin());
    if (named == names.end()) continue;
    const Tensor& want = at.want[output];
    finding.output = *named;
    finding.what = difference(outputs[i], want, rounding_[output]);
    if (!finding.what.empty()) {
      report->finding = std::move(finding);
      return;
    }
    if (want.volume() == 0) continue;
    report->varied[*named] += at.frames[output];
    report->outputs += at.frames[output] > 0 ? 1 : 0;
    report->frames += at.frames[output];
  }
}

NoiseKind Modes::next_kind(Draw* draw) {
  // The rounding error of sums over other keys grows with their terms, so attention gets noise of
  // at most 1.
  constexpr double kScales[] = {1, 1e4, 1e-3, 100, 1e-2, 1e3, 0.1, 10};
  constexpr int64_t kCount = std::size(kScales);
  const double scale = kScales[drawn_++ % kCount];
  const int64_t sign = draw->in(1, 100);
  return {attends_ ? std::min(scale, 1.0) : scale, sign <= 25 ? 1 : sign <= 35 ? -1 : 0};
}

Result<bool> Modes::draw_case(int64_t length, Draw* draw, Case* out) {
  const std::string symbol(plan().stream_symbol);
  const NoiseKind kind = next_kind(draw);
  out->length = length;
  RILL_ASSIGN(out->inputs, noise_inputs(whole_, symbol, length, draw, kind));
  RILL_ASSIGN(auto want,
              windows_ ? windows_(whole_, pulsed_, length, out->inputs, until_)
                       : run_whole(whole_, symbol, length, out->inputs, weights_, until_));
  if (!want) return false;
  out->want = std::move(*want);
  return true;
}

void Modes::count_varied(const Case& other, Case* of) const {
  of->frames.assign(of->want.size(), 0);
  for (const PlanIo& io : plan().outputs) {
    const auto named = find(whole_.output_names, std::string(io.name));
    if (named == whole_.output_names.end()) continue;
    const auto output = static_cast<size_t>(named - whole_.output_names.begin());
    const Tensor& want = of->want[output];
    const int axis = io.stream.axis < static_cast<int>(want.shape().size()) ? io.stream.axis : -1;
    if (want.volume() == 0) continue;
    of->frames[output] = fixed_[output] == 0 ? varied_frames(want, other.want[output], axis)
                         : axis >= 0         ? want.extent(axis)
                                             : 1;
  }
}

Outputs Modes::stepped(const Case& at) {
  StreamOptions options;
  options.nan_filler = true;
  options.until = until_;
  RILL_ASSIGN(StreamResult out, run_stream(session_.get(), at.inputs, at.length, options));
  return out.given_up ? Outputs(std::nullopt) : Outputs(std::move(out.outputs));
}

/// Return a session that continues from the state of another one. `refused`: whether a session of
/// another pulse could not.
Result<std::unique_ptr<Session>> Modes::moved(Session* session, Feed* feed,
                                             std::unique_ptr<Feed>* next, Event event, Draw* draw,
                                             bool* refused) {
  size_t to = 0;
  if (event == Event::kMove) {
    to = static_cast<size_t>(draw->in(0, static_cast<int64_t>(plans_.size()) - 1));
  }
  RILL_ASSIGN(auto out, Session::make(plans_[to]));
  RILL_ASSIGN(*next, Feed::make(out.get(), event == Event::kClone ? 3 * plan().stream_pulse : 0));
  if (event == Event::kClone) {
    out->copy_state(*session);
    (*next)->copy(*feed);
    return out;
  }
  SavedState saved(session, feed);
  std::vector<std::byte> bytes(static_cast<size_t>(saved.most_bytes()));
  const int64_t size = saved.save(bytes);
  if (size < 0) return fail(Code::kInternal, "a state is larger than its announced size");
  const Status loaded =
      SavedState(out.get(), next->get()).load({bytes.data(), static_cast<size_t>(size)});
  *refused = !loaded.ok() && loaded.code() == Code::kState &&
             out->plan().stream_pulse != session->plan().stream_pulse;
  if (!*refused) RILL_TRY(loaded);
  return out;
}

Outputs Modes::pushed(const Case& at, Event event, Draw* draw, Report* report) {
  RILL_ASSIGN(auto session, Session::make(plans_[0]));
  // A clone copies queued frames unchanged, so its queues need the same size.
  const int64_t held = event == Event::kClone ? 3 : draw->in(0, 3);
  RILL_ASSIGN(auto feed, Feed::make(session.get(), held * plan().stream_pulse));
  PushedStream stream(at.inputs, draw->next(), until_);
  stream.attach(session.get(), feed.get());
  const int64_t choice = draw->in(0, 100);
  bool ahead = event != Event::kNone;
  while (true) {
    if (ahead && stream.past(choice)) {
      // A stream may move several times.
      ahead = event == Event::kMove && draw->chance(50);
      if (event == Event::kReset) {
        session->reset();
        feed->reset();
        stream.restart();
        stream.attach(session.get(), feed.get());
      } else {
        bool refused = false;
        std::unique_ptr<Feed> next_feed;
        RILL_ASSIGN(auto next,
                    moved(session.get(), feed.get(), &next_feed, event, draw, &refused));
        if (refused) {
          report->not_moved += 1;
          ahead = false;
        } else {
          feed = std::move(next_feed);
          session = std::move(next);
          stream.attach(session.get(), feed.get());
        }
      }
    }
    if (!stream.step()) break;
  }
  RILL_TRY(stream.finish());
  if (stream.given_up()) return Outputs(std::nullopt);
  RILL_ASSIGN(std::vector<Tensor> out, stream.outputs());
  return Outputs(std::move(out));
}

/// Run this stream, another one of the same length, and the one compared before together, layer by
/// layer.
Status Modes::side_by_side(const Case& at, const Case& other, Report* report) {
  std::vector<const Case*> cases{&at, &other};
  for (const Case& each : earlier_) cases.push_back(&each);
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<Lane> lanes;
  for (const Case* each : cases) {
    RILL_ASSIGN(auto session, Session::make(plans_[0]));
    lanes.push_back({session.get(), each->inputs, each->length});
    sessions.push_back(std::move(session));
  }
  StreamOptions options;
  options.nan_filler = true;
  options.ask_session = true;
  options.until = until_;
  auto got = run_side_by_side(lanes, options);
  for (size_t i = 0; i < cases.size(); ++i) {
    judge(*cases[i], kSideBySide,
          !got.ok()            ? Outputs(Status(got.error()))
          : (*got)[i].given_up ? Outputs(std::nullopt)
                               : Outputs(std::move((*got)[i].outputs)),
          report);
  }
  return {};
}

Status Modes::compare(int64_t length, bool in_all_modes, Draw* draw, Report* report) {
  Case at;
  Case other;
  RILL_ASSIGN(const bool done, draw_case(length, draw, &at));
  RILL_ASSIGN(const bool both, !done ? Result<bool>(false) : draw_case(length, draw, &other));
  if (!both) {
    report->given_up += 1;
    return {};
  }
  count_varied(other, &at);
  count_varied(at, &other);
  if (const Refusal takes = session_->check_length(length); !takes.ok()) {
    report->refused += 1;
    report->why_refused = takes.status().error().to_string();
    return {};
  }
  judge(at, kSteps, stepped(at), report);
  const struct {
    Event event;
    const char* name;
  } events[] = {{Event::kNone, "pushed"},
                {Event::kReset, "restarted"},
                {Event::kSave, "saved and loaded"},
                {Event::kClone, "cloned"},
                {Event::kMove, "moved"}};
  const int64_t kinds = plans_.size() > 1 ? 5 : 4;
  const int64_t chosen = draw->in(0, kinds);
  for (int64_t i = 0; i < kinds && !report->finding && !until_.passed(); ++i) {
    if (!in_all_modes && i != chosen) continue;
    const auto& [event, name] = events[i];
    // Pushed streams get other inputs than the stepped one.
    judge(other, name, pushed(other, event, draw, report), report);
  }
  if ((in_all_modes || chosen == kinds) && !report->finding && !until_.passed()) {
    RILL_TRY(side_by_side(at, other, report));
  }
  earlier_.assign(1, std::move(at));
  return {};
}

}  // namespace rill::audit
