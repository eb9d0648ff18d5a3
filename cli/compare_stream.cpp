#include "cli/compare.h"

#include <algorithm>
#include <set>

#include "audit/first_node.h"
#include "cli/exec.h"
#include "cli/reference.h"
#include "cli/say_impl.h"
#include "cli/symbols.h"

namespace rill::cli {
namespace {

// All residues of small pulses; for large pulses, this number of evenly spaced ones.
constexpr int64_t kResidues = 16;
constexpr int64_t kSearchLimit = int64_t{1} << 24;

/// `compare --stream`: whole runs against streamed runs, over lengths that meet every residue of
/// the pulse and streams shorter than pulse and delay.
class StreamComparison {
 public:
  StreamComparison(const CommonOptions& common, const CheckOptions& checks, const Log& log,
                   const Model& model)
      : common_(common), checks_(checks), log_(log), model_(model), whole_(*model.whole) {}

  Status run();

 private:
  Status bind_others();
  std::vector<int64_t> lengths() const;
  bool allowed(int64_t frames) const;
  Result<InputValues> inputs_of(int64_t frames) const;
  Status check_length(int64_t frames);
  void check_output(int64_t frames, size_t index, const Tensor& want, const Tensor& got);

  const CommonOptions& common_;
  const CheckOptions& checks_;
  const Log& log_;
  const Model& model_;
  const Graph& whole_;
  Tolerance tolerance_;
  InputSource source_;
  Bindings others_;     ///< symbols that do not stream
  InputValues bundle_;  ///< whole streams to cut lengths from; empty without a bundle
  Ready pulsed_;
  int64_t pulse_ = 1;  ///< in the stream symbol
  int64_t delay_ = 0;  ///< the longest, in the stream symbol
  int64_t checked_ = 0;
  int64_t skipped_ = 0;
  int64_t failed_ = 0;
  std::string first_failure_;
  std::optional<audit::FirstNode> first_node_;
};

Status StreamComparison::bind_others() {
  RILL_ASSIGN(source_, InputSource::make(common_, log_));
  for (const std::string& text : common_.values.run_set) {
    RILL_ASSIGN(const auto setting, parse_setting(text));
    const auto value = setting.second.eval(others_);
    if (value) others_.emplace_back(setting.first, *value);
  }
  if (source_.has_values()) {
    RILL_ASSIGN(bundle_, source_.resolve(whole_, 0));
    others_ = bundle_.bindings;
  }
  std::erase_if(others_, [&](const auto& each) { return each.first == model_.stream_symbol; });
  for (const std::string& symbol : symbols_of(whole_)) {
    const bool known = std::any_of(others_.begin(), others_.end(),
                                   [&](const auto& each) { return each.first == symbol; });
    if (!known && symbol != model_.stream_symbol) others_.emplace_back(symbol, 1);
  }
  RILL_ASSIGN(pulsed_, make_ready(model_.graph, others_, {optimizes(common_), 1, {}}));
  pulse_ = pulsed_.plan->stream_pulse;
  for (const pulse::Stream& stream : model_.report.outputs) {
    if (stream.axis < 0 || stream.pulse <= 0) continue;
    delay_ = std::max(delay_, (stream.delay * pulse_ + stream.pulse - 1) / stream.pulse);
  }
  return {};
}

/// Return whether the model's assertions allow a stream of this length.
bool StreamComparison::allowed(int64_t frames) const {
  Bindings bindings = others_;
  bindings.emplace_back(model_.stream_symbol, frames);
  for (const auto& assertion : whole_.scope.assertions()) {
    for (const Dim& dim : assertion.non_negative) {
      const auto value = dim.eval(bindings);
      if (value && *value < 0) return false;
    }
  }
  return true;
}

std::vector<int64_t> StreamComparison::lengths() const {
  int64_t least = 1;
  while (least < kSearchLimit && !allowed(least)) least += std::max<int64_t>(1, least / 16);
  while (least > 1 && allowed(least - 1)) --least;
  const int64_t step = std::max<int64_t>(1, pulse_ / kResidues);
  std::set<int64_t> out;
  for (const int64_t base : {least, least + delay_ + 2 * pulse_}) {
    for (int64_t r = 0; r < pulse_; r += step) out.insert(base + r);
    out.insert(base + pulse_ - 1);
  }
  out.insert(std::max(least, pulse_));
  out.insert(std::max(least, 3 * pulse_));
  out.insert(std::max(least, delay_));
  out.insert(std::max(least, delay_ - 1));
  return {out.begin(), out.end()};
}

Result<InputValues> StreamComparison::inputs_of(int64_t frames) const {
  Bindings bindings = others_;
  bindings.emplace_back(model_.stream_symbol, frames);
  if (bundle_.values.empty()) return source_.random(whole_, std::move(bindings));
  InputValues out = bundle_;
  out.bindings = bindings;
  for (size_t i = 0; i < out.values.size(); ++i) {
    const pulse::Stream& stream = model_.report.inputs[i];
    if (stream.axis < 0) continue;
    const auto extent = stream.length.eval(bindings);
    if (!extent || *extent > out.values[i].extent(stream.axis)) {
      return fail(Code::kShape, "the bundle's stream is shorter than ", counted(frames, "frame"));
    }
    RILL_ASSIGN(out.values[i], frames_of(out.values[i], stream.axis, 0, *extent));
  }
  return out;
}

void StreamComparison::check_output(int64_t frames, size_t index, const Tensor& want,
                                    const Tensor& got) {
  // An empty output proves nothing.
  checked_ += want.volume() > 0 ? 1 : 0;
  const auto wrong = mismatch(want, got, tolerance_, true);
  if (!wrong) return;
  ++failed_;
  const int axis = pulsed_.plan->outputs[index].stream.axis;
  const std::string text = str_cat("output ", pulsed_.plan->outputs[index].name,
                                   first_bad_frame(axis, want, got, tolerance_), " of a stream of ",
                                   model_.stream_symbol, "=", frames, ": ", *wrong);
  if (first_failure_.empty()) first_failure_ = text;
  log_.info(text);
}

Status StreamComparison::check_length(int64_t frames) {
  auto inputs = inputs_of(frames);
  if (!inputs.ok()) {
    ++skipped_;
    log_.info(inputs.error().to_string());
    return {};
  }
  auto whole = make_ready(whole_, inputs->bindings, {optimizes(common_), 1, {}});
  if (!whole.ok()) {
    // The whole model is undefined for this length, so it has no reference.
    ++skipped_;
    log_.info(whole.error().to_string());
    return {};
  }
  RILL_ASSIGN(const std::vector<Tensor> want, run_drawn(whole->session.get(), inputs->values));
  StreamOptions options;
  options.nan_filler = true;
  RILL_ASSIGN(const StreamResult got,
              run_stream(pulsed_.session.get(), inputs->values, frames, options));
  const int64_t failed_before = failed_;
  for (size_t i = 0; i < got.outputs.size(); ++i) {
    const std::string name(pulsed_.plan->outputs[i].name);
    for (size_t k = 0; k < want.size(); ++k) {
      if (whole_.output_names[k] == name) check_output(frames, i, want[k], got.outputs[i]);
    }
  }
  if (failed_ > failed_before && !first_node_) {
    pulse::Options pulsed;
    pulsed.symbol = model_.stream_symbol;
    pulsed.pulse = Dim(pulse_);
    pulsed.backward_chunks = log_.tract() || common_.streaming.pulse_backward == "chunk";
    first_node_ = audit::first_node(whole_, pulsed, inputs->values, inputs->bindings, frames,
                                    tolerance_);
  }
  return {};
}

Status StreamComparison::run() {
  RILL_ASSIGN(tolerance_, tolerance_of(checks_));
  RILL_TRY(bind_others());
  const std::vector<int64_t> all = lengths();
  for (const int64_t frames : all) RILL_TRY(check_length(frames));
  say("{} lengths of {} from {} to {}, pulse {}{}{}: {} checked, {} skipped, {} failed\n",
      all.size(), model_.stream_symbol, all.front(), all.back(), pulse_,
      others_.empty() ? "" : ", ", bindings_text(others_), checked_, skipped_, failed_);
  if (failed_ > 0) {
    const std::string where =
        first_node_ ? str_cat(". First node that differs: ", first_node_->to_string()) : "";
    return fail(Code::kState, failed_, " error(s). First: ", first_failure_, where);
  }
  if (checked_ == 0) {
    return fail(Code::kState, "nothing was compared: no length was possible")
        .hint("-v says why; --set gives other symbols their values");
  }
  return {};
}

}  // namespace

Status compare_stream(const CommonOptions& common, const CheckOptions& checks, const Log& log,
                      const Model& model) {
  if (pulse::window_of(model.graph)) {
    return fail(Code::kPulse, "a windowed model does not have the frames of the whole run")
        .hint("check reports the difference, and audit proves the frames of each window");
  }
  if (!model.whole) {
    return fail(Code::kPulse, "compare --stream needs a model and a pulse: ",
                model.pulsed() ? "this archive is pulsed already" : "no pulse was given")
        .hint("Add --pulse S=8 before compare, to a model that is not pulsed yet");
  }
  return StreamComparison(common, checks, log, model).run();
}

}  // namespace rill::cli
