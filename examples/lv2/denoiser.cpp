// A denoiser as an LV2 plugin: one channel of any sample rate through the model in its bundle. The
// code in the host's callback neither allocates nor locks.
#include <lv2/core/lv2.h>

#include <algorithm>
#include <memory>
#include <string>

#include "rill/audio.hpp"

namespace {

constexpr int64_t kUsualRate = 16000;  // Hz, of models without the property rill.sample_rate
constexpr int64_t kMostLatencyMs = 20;  // of the stream at the model's rate

enum Port : uint32_t { kInput = 0, kOutput = 1, kLatency = 2 };

struct Denoiser {
  rill::AudioEffect effect;
  const float* input = nullptr;
  float* output = nullptr;
  float* latency = nullptr;
};

rill::Result<rill::AudioEffect> make_effect(const std::string& model_path, double rate) {
  auto model = rill::Model::load(model_path);
  if (!model) return model.error();
  if (auto status = model->set("B", 1); !status) return status.error();
  auto own_rate = rill::sample_rate(*model);
  rill::AudioOptions options;
  options.device_rate = static_cast<int64_t>(rate);
  options.model_rate = own_rate ? *own_rate : kUsualRate;
  // Choose among the pulses within this latency.
  const int64_t most = options.model_rate * kMostLatencyMs / 1000;
  auto status = model->pulse("S", "auto:max_latency=" + std::to_string(most));
  // A model that looks further ahead has no such pulse.
  if (!status) status = model->pulse("S", "auto");
  if (!status) return status.error();
  auto plan = model->prepare();
  if (!plan) return plan.error();
  return rill::AudioEffect::make(*plan, options);
}

LV2_Handle instantiate(const LV2_Descriptor*, double rate, const char* bundle,
                       const LV2_Feature* const*) {
  auto effect = make_effect(std::string(bundle) + "/model.nnef.tgz", rate);
  if (!effect) {
    std::fprintf(stderr, "rill denoiser: %s\n", effect.error().text.c_str());
    return nullptr;
  }
  return new Denoiser{std::move(effect).value()};
}

void connect_port(LV2_Handle instance, uint32_t port, void* data) {
  auto* self = static_cast<Denoiser*>(instance);
  if (port == kInput) self->input = static_cast<const float*>(data);
  if (port == kOutput) self->output = static_cast<float*>(data);
  if (port == kLatency) self->latency = static_cast<float*>(data);
}

void activate(LV2_Handle instance) { static_cast<Denoiser*>(instance)->effect.reset(); }

void run(LV2_Handle instance, uint32_t frames) {
  auto* self = static_cast<Denoiser*>(instance);
  if (self->latency) *self->latency = static_cast<float>(self->effect.latency());
  if (!self->input || !self->output) return;
  const rill_status status =
      self->effect.process(rill::ConstSound::interleaved(self->input, 1, frames),
                           rill::Sound::interleaved(self->output, 1, frames));
  if (status != RILL_OK) std::fill_n(self->output, frames, 0.0F);
}

void cleanup(LV2_Handle instance) { delete static_cast<Denoiser*>(instance); }

constexpr LV2_Descriptor kDescriptor = {"urn:rill:denoiser", instantiate, connect_port, activate,
                                        run, nullptr, cleanup, nullptr};

}  // namespace

LV2_SYMBOL_EXPORT const LV2_Descriptor* lv2_descriptor(uint32_t index) {
  return index == 0 ? &kDescriptor : nullptr;
}
