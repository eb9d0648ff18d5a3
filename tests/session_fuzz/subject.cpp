#include "tests/session_fuzz/subject.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "api/src/model_handle.h"
#include "tests/property/streaming.h"

namespace rill::test {
namespace {

/// Limits the tier of models that are loaded, pulsed and prepared in its lifetime; null: no limit.
class TierLimit {
 public:
  explicit TierLimit(const char* tier) { rill_set_cpu_limit(tier); }
  ~TierLimit() { rill_set_cpu_limit(nullptr); }
  TierLimit(const TierLimit&) = delete;
  TierLimit& operator=(const TierLimit&) = delete;
};

/// Return the tier of whole runs. Loading and pulsing fold constants, so both must use one tier.
const char* whole_tier(Tiers tiers) { return tiers == Tiers::kPlain ? "scalar" : nullptr; }

/// Return the inputs or the outputs of a plan.
std::vector<Port> ports_of(const rill_plan* plan, rill_dir dir) {
  std::vector<Port> ports;
  rill_io_info io = {};
  io.size = sizeof(io);
  for (size_t i = 0; i < rill_plan_count(plan, dir); ++i) {
    if (rill_plan_io(plan, dir, i, &io) != RILL_OK) return {};
    const int64_t early = dir == RILL_OUTPUT ? plan->plan->outputs[i].stream.early : 0;
    ports.push_back({io.name, io.dtype, {io.shape, io.shape + io.rank}, io.stream_axis, early});
  }
  return ports;
}

/// Return a plan of the model with its current bindings; null on failure.
PlanPtr plan_of(const rill_model* model) {
  rill_plan* plan = nullptr;
  if (rill_prepare(model, nullptr, &plan) != RILL_OK) return nullptr;
  return PlanPtr(plan);
}

ModelPtr copy_of(const ModelPtr& model) {
  rill_model* copy = nullptr;
  if (rill_model_clone(model.get(), &copy) != RILL_OK) return nullptr;
  return ModelPtr(copy);
}

/// Return noise; for other types than floats, the given values, repeated.
Array input_of(const Port& port, const Arrays& given, uint64_t seed) {
  if (port.dtype == RILL_F32) return Array::noise(port.shape, static_cast<uint32_t>(seed));
  Array out = Array::zeros(port.dtype, port.shape);
  const auto found = given.find(port.name);
  if (found == given.end() || found->second.bytes.empty()) return out;
  const auto& from = found->second.bytes;
  for (size_t i = 0; i < out.bytes.size(); ++i) out.bytes[i] = from[i % from.size()];
  return out;
}

}  // namespace

void Subject::add_plan(int64_t pulse, const char* tier) {
  const TierLimit limit(tier);
  const ModelPtr model = copy_of(model_);
  if (!model) return;
  if (rill_model_pulse(model.get(), symbol_.c_str(), std::to_string(pulse).c_str()) != RILL_OK) {
    return;
  }
  Pulsed pulsed;
  pulsed.plan = plan_of(model.get());
  if (!pulsed.plan) return;
  pulsed.name = "pulse " + std::to_string(pulse) + (tier ? std::string(", ") + tier : "");
  pulsed.inputs = ports_of(pulsed.plan.get(), RILL_INPUT);
  pulsed.outputs = ports_of(pulsed.plan.get(), RILL_OUTPUT);
  pulsed.late_end = pulsed.plan->plan->late_end;
  longest_pulse_ = std::max(longest_pulse_, pulse);
  plans_.push_back(std::move(pulsed));
}

bool Subject::add_plans(const std::vector<int64_t>& pulses) {
  for (const int64_t pulse : pulses) {
    if (tiers_ != Tiers::kPlain) add_plan(pulse, nullptr);
    if (tiers_ != Tiers::kBest) add_plan(pulse, "scalar");
  }
  return !plans_.empty();
}

std::string Subject::difference(const Array& found, const Array& want) const {
  if (tiers_ != Tiers::kMixed || found.dtype != RILL_F32) return bit_difference(found, want);
  return rill::test::difference(found, want, 1e-3, 1e-3);
}

std::unique_ptr<Subject> Subject::of_model(const ModelFolder& folder, Tiers tiers, uint64_t seed) {
  const Arrays bundle = read_bundle(folder.bundles[0]);
  ModelPtr model;
  {
    const TierLimit limit(whole_tier(tiers));
    model = load_bound(folder.archive, bundle, folder.symbol);
  }
  if (!model) return nullptr;
  std::unique_ptr<Subject> out(
      new Subject(folder.name, std::move(model), folder.symbol, tiers, seed));
  out->given_ = bundle;
  const int64_t pulse = folder.pulse;
  const bool any = out->add_plans({pulse, 3 * pulse, 2 * pulse});
  return any ? std::move(out) : nullptr;
}

std::unique_ptr<Subject> Subject::of_text(const std::string& name, const std::string& text,
                                          int64_t unit, Tiers tiers, uint64_t seed) {
  rill_model* raw = nullptr;
  {
    const TierLimit limit(whole_tier(tiers));
    if (rill_load_memory(text.data(), text.size(), nullptr, &raw) != RILL_OK) return nullptr;
  }
  std::unique_ptr<Subject> out(new Subject(name, ModelPtr(raw), "S", tiers, seed));
  out->text_ = text;
  const auto more = static_cast<int64_t>(2 + seed % 5);
  const bool any = out->add_plans({unit, more * unit, (more + 1) * unit});
  return any ? std::move(out) : nullptr;
}

int64_t Subject::draw_length(uint64_t dice) const {
  const double most = std::log(6.0 * static_cast<double>(longest_pulse_) + 12);
  const double part = static_cast<double>(dice % 1024) / 1024;
  return static_cast<int64_t>(std::exp(part * most)) - (dice / 1024 % 16 == 0 ? 1 : 0);
}

Whole& Subject::whole(int64_t length) {
  const std::lock_guard<std::mutex> lock(wholes_mutex_);
  const auto [it, fresh] = wholes_.try_emplace(length);
  Whole& whole = it->second;
  if (!fresh) return whole;
  whole.length = length;
  whole.too_short = symbol_ != "S" || is_too_short(model_->graph, length);
  const TierLimit limit(whole_tier(tiers_));
  const ModelPtr model = copy_of(model_);
  const std::string text = std::to_string(length);
  if (!model || rill_model_set_symbol(model.get(), symbol_.c_str(), text.c_str()) != RILL_OK) {
    return whole;
  }
  const PlanPtr plan = plan_of(model.get());
  rill_session* raw = nullptr;
  if (!plan || rill_session_new(plan.get(), &raw) != RILL_OK) return whole;
  const SessionPtr session(raw);
  std::vector<rill_view> in;
  std::vector<rill_view> out;
  for (const Port& port : ports_of(plan.get(), RILL_INPUT)) {
    whole.inputs.push_back(input_of(
        port, given_, seed_ + 31 * whole.inputs.size() + 1009 * static_cast<uint64_t>(length)));
  }
  for (const Port& port : ports_of(plan.get(), RILL_OUTPUT)) {
    whole.outputs.push_back(Array::zeros(port.dtype, port.shape));
  }
  for (const Array& array : whole.inputs) in.push_back(array.view());
  for (const Array& array : whole.outputs) out.push_back(array.view());
  whole.defined = rill_run(raw, in.data(), in.size(), out.data(), out.size()) == RILL_OK;
  return whole;
}

}  // namespace rill::test
