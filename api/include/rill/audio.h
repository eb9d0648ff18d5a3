/** @file
 * Models on the sound of devices, for every language that calls C.
 *
 *   rill_effect    sound in, as much sound out: plugins, calls, hearing aids
 *   rill_listener  sound in, frames of the model out: keywords, voice activity
 *
 * Over rill.h, with librill or librill_run. The functions are in librill_audio.a; C++ has the same
 * in rill/audio.hpp, without a library. One thread at a time uses an effect or listener. */
#ifndef RILL_AUDIO_H_
#define RILL_AUDIO_H_

#include "rill/rill.h"

#ifdef __cplusplus
extern "C" {
#define RILL_ANY_INT : int
#else
#define RILL_ANY_INT
#endif

/** The type of samples. */
typedef enum rill_sample_format RILL_ANY_INT {
  RILL_SAMPLE_I16 = 0, /**< full scale is 2^15 */
  RILL_SAMPLE_I32 = 1, /**< full scale is 2^31 */
  RILL_SAMPLE_F32 = 2  /**< full scale is 1 */
} rill_sample_format;

/** A block of sound in the caller's memory. */
typedef struct rill_sound {
  uint32_t size; /**< sizeof(rill_sound) */
  rill_sample_format format; /**< type of the samples */
  int32_t channels;          /**< number of channels */
  int64_t frames;            /**< samples of each channel */
  void* data;          /**< interleaved samples, or null */
  void* const* planes; /**< a pointer to the samples of each channel, or null */
} rill_sound;

/** Rates, channels and block size of a device, and the rate of the model. */
typedef struct rill_audio_opts {
  uint32_t size; /**< sizeof(rill_audio_opts) */
  int32_t channels;    /**< of the device; 0: 1 */
  int64_t device_rate; /**< Hz */
  int64_t model_rate;  /**< Hz; 0: the property rill.sample_rate of the model */
  int64_t block;       /**< frames of each call, or a divisor of them, for less latency; 0: any */
  int32_t worker;      /**< not 0: steps of an effect run in rill_effect_work, a pulse later */
  int32_t reference_channels; /**< of the second input; 0: the model has one input */
  int32_t crossings; /**< zero crossings of the resamplers' sinc, 8 to 256; 0: 32 */
} rill_audio_opts;

typedef struct rill_effect rill_effect;
typedef struct rill_listener rill_listener;

/** Return the last failure of a function of this header in this thread, in one line; "" if there
 *  was none. Functions for audio callbacks do not set it. */
const char* rill_audio_error(void);

/** Make an effect that plays output 0 of a plan. The plan has one input, or with reference_channels
 *  two, which stream together; the output has 1/8 to 8 frames for each input frame. The plan may be
 *  released afterwards. A model of one channel runs on each channel of the device. Errors:
 *  RILL_E_ARG for another plan, and for invalid rates, channels, blocks or crossings;
 *  RILL_E_UNSUPPORTED for rates whose resampler takes more than 16 MiB; RILL_E_NOMEM. */
rill_status rill_effect_new(rill_plan* plan, const rill_audio_opts* opts, rill_effect** effect);
/** Free the effect. Null is allowed. */
void rill_effect_free(rill_effect* effect);
/** Return the exact lag of the output in frames of the device; -1 for null. */
int64_t rill_effect_latency(const rill_effect* effect) RILL_REAL_TIME;
/** Push a block, and write as many frames to `out`, which may be the same memory with the same
 *  layout.
 *  Real-time: yes. Errors: RILL_E_DTYPE for an unknown format; RILL_E_SHAPE for another number of
 *  channels or frames; RILL_E_ARG for null; RILL_E_ABI. The stream is unchanged then.
 *  RILL_E_STATE: the worker was late; silence replaces frames, and the stream continues. */
rill_status rill_effect_process(rill_effect* effect, const rill_sound* in,
                                const rill_sound* out) RILL_REAL_TIME;
/** Push a block for both inputs of a model that needs a reference, such as the output of the
 *  loudspeaker. A second input of one channel gets the mean of the reference's channels.
 *  Real-time: yes. Errors: as rill_effect_process; RILL_E_ARG for a model of one input. For a model
 *  of two inputs, rill_effect_process fails with RILL_E_ARG. */
rill_status rill_effect_process_with(rill_effect* effect, const rill_sound* in,
                                     const rill_sound* reference,
                                     const rill_sound* out) RILL_REAL_TIME;
/** Step all waiting pulses of an effect with a worker, and return their number; -1 for null. A
 *  thread other than that of rill_effect_process calls it several times per pulse. While it runs,
 *  other threads may only call rill_effect_process, rill_effect_bypass and rill_effect_late.
 *  Real-time: yes. */
int64_t rill_effect_work(rill_effect* effect) RILL_REAL_TIME;
/** Not 0: step in rill_effect_process in place of rill_effect_work, for rendering faster than
 *  real time. */
rill_status rill_effect_offline(rill_effect* effect, int32_t on);
/** Return the number of pulses that a worker finished late since the last reset; -1 for null. */
int64_t rill_effect_late(const rill_effect* effect) RILL_REAL_TIME;
/** Not 0: play the input, with the latency of the output; 0: play the output. The switch
 *  fades over 5 ms. The model keeps running. Real-time: yes. */
rill_status rill_effect_bypass(rill_effect* effect, int32_t on) RILL_REAL_TIME;
/** Return to the state of a new effect. Real-time: yes. */
rill_status rill_effect_reset(rill_effect* effect) RILL_REAL_TIME;
/** Return the bytes that rill_effect_save writes at most, valid until a state is loaded. */
rill_status rill_effect_state_size(rill_effect* effect, size_t* size);
/** Write the state of the stream to memory aligned to 8 bytes. Errors: RILL_E_ARG if too small. */
rill_status rill_effect_save(rill_effect* effect, void* bytes, size_t size, size_t* written);
/** Continue a saved stream of an effect with the same model and options. The bytes, aligned to 8,
 *  need not be trusted. Errors: RILL_E_PARSE, and those of rill_state_load; the effect is then in
 *  the state of a new one. */
rill_status rill_effect_load(rill_effect* effect, const void* bytes, size_t size);

/** Receives new frames of an output; the view is valid until it returns. It runs in the thread that
 *  pushes sound: in an audio callback it must not allocate, wait or throw. */
typedef void (*rill_heard_fn)(void* user, size_t output, const rill_view* frames);

/** Make a listener; a model of one channel hears the mean of the device's. Errors: as
 *  rill_effect_new. */
rill_status rill_listener_new(rill_plan* plan, const rill_audio_opts* opts,
                              rill_listener** listener);
/** Free the listener. Null is allowed. */
void rill_listener_free(rill_listener* listener);
/** Return the largest lag of an output in frames of the device; -1 if it does not stream. */
int64_t rill_listener_latency(const rill_listener* listener, size_t output) RILL_REAL_TIME;
/** Push a block, and call `heard` with new frames. Real-time: yes if `heard` is. Errors: as
 *  rill_effect_process; those of rill_step. */
rill_status rill_listener_push(rill_listener* listener, const rill_sound* in, rill_heard_fn heard,
                               void* user);
/** Push a block for both inputs of a model that needs a reference. Errors: as above. */
rill_status rill_listener_push_with(rill_listener* listener, const rill_sound* in,
                                    const rill_sound* reference, rill_heard_fn heard, void* user);
/** End the stream, and call `heard` with the rest. Errors: those of rill_step_partial. */
rill_status rill_listener_finish(rill_listener* listener, rill_heard_fn heard, void* user);
/** Return to the state of a new listener. Real-time: yes. */
rill_status rill_listener_reset(rill_listener* listener) RILL_REAL_TIME;

#ifdef __cplusplus
} /* extern "C" */
#endif

#undef RILL_ANY_INT

#endif /* RILL_AUDIO_H_ */
