// Implements rill/audio.h over rill/audio.hpp, separate from librill: it only uses rill.h.
#include "rill/audio.h"

#include <new>

#include "rill/audio.hpp"

struct rill_effect {
  rill::AudioEffect effect;
};
struct rill_listener {
  rill::AudioListener listener;
};

namespace {

std::string& last_error() {
  thread_local std::string text;
  return text;
}

rill_status fail(const rill::Error& error) {
  last_error() = error.text;
  return error.code;
}
rill_status fail(rill_status status, const char* text) {
  last_error() = text;
  return status;
}

rill_status fill(rill_plan* plan, const rill_audio_opts* opts, rill::AudioOptions* out) {
  if (!opts || !plan) return fail(RILL_E_ARG, "a null plan or null options");
  if (opts->size != sizeof(rill_audio_opts))
    return fail(RILL_E_ABI, "rill_audio_opts of another size");
  out->channels = opts->channels == 0 ? 1 : opts->channels;
  out->device_rate = opts->device_rate;
  out->block = opts->block;
  out->worker = opts->worker != 0;
  out->reference_channels = opts->reference_channels;
  if (opts->crossings != 0) out->crossings = opts->crossings;
  out->model_rate = opts->model_rate;
  if (opts->model_rate != 0) return RILL_OK;
  auto rate = rill::sample_rate(rill::Plan(rill_plan_retain(plan)));
  if (!rate) return fail(rate.error());
  out->model_rate = *rate;
  return RILL_OK;
}

/// Make a `Handle` of a `Kind`. Errors: RILL_E_NOMEM if the heap throws; those of `Kind::make`.
template <class Kind, class Handle>
rill_status make(rill_plan* plan, const rill_audio_opts* opts, Handle** out) {
  if (!out) return fail(RILL_E_ARG, "null pointer for the handle");
  *out = nullptr;
#ifdef __cpp_exceptions
  try {
#endif
    rill::AudioOptions options;
    const rill_status known = fill(plan, opts, &options);
    if (known != RILL_OK) return known;
    rill_plan* const owned = rill_plan_retain(plan);
    if (!owned) return fail(RILL_E_ARG, "not a plan: freed, or another kind of object");
    auto made = Kind::make(rill::Plan(owned), options);
    if (!made) return fail(made.error());
    *out = new Handle{std::move(made).value()};
    return RILL_OK;
#ifdef __cpp_exceptions
  } catch (const std::bad_alloc&) {
    return RILL_E_NOMEM;
  }
#endif
}

/// Convert a block of the C interface. Errors: RILL_E_ARG, RILL_E_ABI.
template <class Sound>
rill_status read(const rill_sound* from, Sound* to) {
  if (!from) return RILL_E_ARG;
  if (from->size != sizeof(rill_sound)) return RILL_E_ABI;
  to->format = static_cast<rill::SampleFormat>(from->format);
  to->channels = from->channels;
  to->frames = from->frames;
  to->data = from->data;
  to->planes = from->planes;
  return RILL_OK;
}

/// A `rill_heard_fn`, which the caller promises to be real-time safe.
using RealTimeHeard = void (*)(void* user, size_t output,
                               const rill_view* frames) RILL_REAL_TIME;

/// Passes frames to a C function.
struct Heard {
  RealTimeHeard heard;
  void* user;

  void operator()(size_t output, const rill::TensorView<const float>& frames) const {
    rill_view view = {};
    view.size = sizeof(view);
    view.dtype = RILL_F32;
    view.rank = static_cast<uint32_t>(frames.rank());
    int64_t shape[RILL_MAX_RANK] = {};
    int64_t strides[RILL_MAX_RANK] = {};
    for (int axis = 0; axis < frames.rank(); ++axis) {
      shape[axis] = frames.extent(axis);
      strides[axis] = frames.stride(axis);
    }
    view.shape = shape;
    view.strides = strides;
    view.data = const_cast<float*>(frames.data());
    heard(user, output, &view);
  }
};

Heard marked(rill_heard_fn heard, void* user) RILL_REAL_TIME {
  return {reinterpret_cast<RealTimeHeard>(heard), user};
}

}  // namespace

extern "C" {

const char* rill_audio_error(void) { return last_error().c_str(); }

rill_status rill_effect_new(rill_plan* plan, const rill_audio_opts* opts, rill_effect** effect) {
  return make<rill::AudioEffect>(plan, opts, effect);
}
void rill_effect_free(rill_effect* effect) { delete effect; }
int64_t rill_effect_latency(const rill_effect* effect) RILL_REAL_TIME {
  return effect ? effect->effect.latency() : -1;
}
rill_status rill_effect_process(rill_effect* effect, const rill_sound* in,
                                const rill_sound* out) RILL_REAL_TIME {
  rill::ConstSound from;
  rill::Sound to;
  rill_status status = effect ? read(in, &from) : RILL_E_ARG;
  if (status == RILL_OK) status = read(out, &to);
  return status == RILL_OK ? effect->effect.process(from, to) : status;
}
rill_status rill_effect_process_with(rill_effect* effect, const rill_sound* in,
                                     const rill_sound* reference,
                                     const rill_sound* out) RILL_REAL_TIME {
  rill::ConstSound from;
  rill::ConstSound second;
  rill::Sound to;
  rill_status status = effect ? read(in, &from) : RILL_E_ARG;
  if (status == RILL_OK) status = read(reference, &second);
  if (status == RILL_OK) status = read(out, &to);
  return status == RILL_OK ? effect->effect.process(from, second, to) : status;
}
int64_t rill_effect_work(rill_effect* effect) RILL_REAL_TIME {
  return effect ? effect->effect.work() : -1;
}
rill_status rill_effect_offline(rill_effect* effect, int32_t on) {
  if (!effect) return RILL_E_ARG;
  effect->effect.offline(on != 0);
  return RILL_OK;
}
int64_t rill_effect_late(const rill_effect* effect) RILL_REAL_TIME {
  return effect ? effect->effect.late() : -1;
}
rill_status rill_effect_bypass(rill_effect* effect, int32_t on) RILL_REAL_TIME {
  if (!effect) return RILL_E_ARG;
  effect->effect.bypass(on != 0);
  return RILL_OK;
}
rill_status rill_effect_reset(rill_effect* effect) RILL_REAL_TIME {
  return effect ? effect->effect.reset() : RILL_E_ARG;
}
rill_status rill_effect_state_size(rill_effect* effect, size_t* size) {
  if (!effect || !size) return RILL_E_ARG;
  *size = effect->effect.state_bytes();
  return RILL_OK;
}
rill_status rill_effect_save(rill_effect* effect, void* bytes, size_t size, size_t* written) {
  return effect && bytes && written ? effect->effect.save(bytes, size, written) : RILL_E_ARG;
}
rill_status rill_effect_load(rill_effect* effect, const void* bytes, size_t size) {
  return effect && bytes ? effect->effect.load(bytes, size) : RILL_E_ARG;
}

rill_status rill_listener_new(rill_plan* plan, const rill_audio_opts* opts,
                              rill_listener** listener) {
  return make<rill::AudioListener>(plan, opts, listener);
}
void rill_listener_free(rill_listener* listener) { delete listener; }
int64_t rill_listener_latency(const rill_listener* listener, size_t output) RILL_REAL_TIME {
  return listener ? listener->listener.latency(output) : -1;
}
rill_status rill_listener_push(rill_listener* listener, const rill_sound* in, rill_heard_fn heard,
                               void* user) {
  rill::ConstSound from;
  const rill_status status = listener && heard ? read(in, &from) : RILL_E_ARG;
  return status == RILL_OK ? listener->listener.push(from, marked(heard, user)) : status;
}
rill_status rill_listener_push_with(rill_listener* listener, const rill_sound* in,
                                    const rill_sound* reference, rill_heard_fn heard, void* user) {
  rill::ConstSound from;
  rill::ConstSound second;
  rill_status status = listener && heard ? read(in, &from) : RILL_E_ARG;
  if (status == RILL_OK) status = read(reference, &second);
  if (status != RILL_OK) return status;
  return listener->listener.push(from, second, marked(heard, user));
}
rill_status rill_listener_finish(rill_listener* listener, rill_heard_fn heard, void* user) {
  return listener && heard ? listener->listener.finish(marked(heard, user)) : RILL_E_ARG;
}
rill_status rill_listener_reset(rill_listener* listener) RILL_REAL_TIME {
  return listener ? listener->listener.reset() : RILL_E_ARG;
}

}  // extern "C"
