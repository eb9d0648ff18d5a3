#include "audio_jni.h"

#include <stdint.h>
#include <string.h>

#include "rill/audio.h"

#define RILL_UNUSED(name) (void)name

static rill_effect* effect_of(jlong handle) { return (rill_effect*)(intptr_t)handle; }
static rill_listener* listener_of(jlong handle) { return (rill_listener*)(intptr_t)handle; }

static const char* text_of_status(rill_status status) {
  switch (status) {
    case RILL_E_SHAPE:
      return "the number of channels or frames of a block does not fit the options";
    case RILL_E_PARSE:
      return "the bytes are not a state of an effect with this model and these options";
    case RILL_E_ARG:
      return "the memory is too small, or an argument is out of range";
    default:
      return "a step of the model failed";
  }
}

static int good(JNIEnv* env, rill_status status) {
  if (status != RILL_OK) rill_jni_throw(env, status, text_of_status(status));
  return status == RILL_OK;
}

static int read_options(JNIEnv* env, jlongArray from, rill_audio_opts* to) {
  jlong values[7] = {0};
  (*env)->GetLongArrayRegion(env, from, 0, 7, values);
  if ((*env)->ExceptionCheck(env)) return 0;
  *to = (rill_audio_opts){.size = sizeof *to,
                          .channels = (int32_t)values[0],
                          .device_rate = values[1],
                          .model_rate = values[2],
                          .block = values[3],
                          .worker = (int32_t)values[4],
                          .reference_channels = (int32_t)values[5],
                          .crossings = (int32_t)values[6]};
  return 1;
}

static jlong new_effect(JNIEnv* env, jclass type, jlong plan, jlongArray options) {
  RILL_UNUSED(type);
  rill_audio_opts opts;
  rill_effect* effect = NULL;
  if (!read_options(env, options, &opts)) return 0;
  const rill_status status = rill_effect_new((rill_plan*)(intptr_t)plan, &opts, &effect);
  if (status != RILL_OK) rill_jni_throw(env, status, rill_audio_error());
  return (jlong)(intptr_t)effect;
}

static jlong new_listener(JNIEnv* env, jclass type, jlong plan, jlongArray options) {
  RILL_UNUSED(type);
  rill_audio_opts opts;
  rill_listener* listener = NULL;
  if (!read_options(env, options, &opts)) return 0;
  const rill_status status = rill_listener_new((rill_plan*)(intptr_t)plan, &opts, &listener);
  if (status != RILL_OK) rill_jni_throw(env, status, rill_audio_error());
  return (jlong)(intptr_t)listener;
}

static void free_effect(JNIEnv* env, jclass type, jlong effect) {
  RILL_UNUSED(env);
  RILL_UNUSED(type);
  rill_effect_free(effect_of(effect));
}

static void free_listener(JNIEnv* env, jclass type, jlong listener) {
  RILL_UNUSED(env);
  RILL_UNUSED(type);
  rill_listener_free(listener_of(listener));
}

static jlong latency_of_effect(JNIEnv* env, jclass type, jlong effect) {
  RILL_UNUSED(env);
  RILL_UNUSED(type);
  return rill_effect_latency(effect_of(effect));
}

static jlong latency_of_listener(JNIEnv* env, jclass type, jlong listener, jint output) {
  RILL_UNUSED(env);
  RILL_UNUSED(type);
  return output < 0 ? -1 : rill_listener_latency(listener_of(listener), (size_t)output);
}

static rill_sound sound_of(void* data, jint format, jint channels, jint frames) {
  return (rill_sound){.size = sizeof(rill_sound),
                      .format = (rill_sample_format)format,
                      .channels = channels,
                      .frames = frames,
                      .data = data};
}

/* Read the reference of a call, which may be null. */
static int read_reference(JNIEnv* env, jobject buffer, jint position, jint format, jint channels,
                          jint frames, rill_sound* to) {
  char* at = buffer ? rill_jni_at(env, buffer, position) : NULL;
  *to = sound_of(at, format, channels, frames);
  return !buffer || at;
}

static jboolean process(JNIEnv* env, jclass type, jlong effect, jobject in, jint in_position,
                        jobject reference, jint reference_position, jobject out, jint out_position,
                        jint format, jint channels, jint reference_channels, jint frames) {
  RILL_UNUSED(type);
  char* from = rill_jni_at(env, in, in_position);
  char* to = from ? rill_jni_at(env, out, out_position) : NULL;
  rill_sound second;
  if (!to || !read_reference(env, reference, reference_position, format, reference_channels, frames,
                             &second)) {
    return JNI_FALSE;
  }
  const rill_sound source = sound_of(from, format, channels, frames);
  const rill_sound target = sound_of(to, format, channels, frames);
  const rill_status status =
      reference ? rill_effect_process_with(effect_of(effect), &source, &second, &target)
                : rill_effect_process(effect_of(effect), &source, &target);
  if (status == RILL_E_STATE) return JNI_FALSE;
  return good(env, status) ? JNI_TRUE : JNI_FALSE;
}

static jlong work(JNIEnv* env, jclass type, jlong effect) {
  RILL_UNUSED(env);
  RILL_UNUSED(type);
  return rill_effect_work(effect_of(effect));
}

static jlong late(JNIEnv* env, jclass type, jlong effect) {
  RILL_UNUSED(env);
  RILL_UNUSED(type);
  return rill_effect_late(effect_of(effect));
}

/* Sets offline rendering (`what` 0) or the bypass (1), or resets the effect (2). */
static void set_effect(JNIEnv* env, jclass type, jlong effect, jint what, jboolean on) {
  RILL_UNUSED(type);
  rill_effect* of = effect_of(effect);
  good(env, what == 0   ? rill_effect_offline(of, on)
            : what == 1 ? rill_effect_bypass(of, on)
                        : rill_effect_reset(of));
}

static jlong state_size(JNIEnv* env, jclass type, jlong effect) {
  RILL_UNUSED(type);
  size_t size = 0;
  return good(env, rill_effect_state_size(effect_of(effect), &size)) ? (jlong)size : 0;
}

static jlong save(JNIEnv* env, jclass type, jlong effect, jobject bytes, jint size) {
  RILL_UNUSED(type);
  char* at = rill_jni_at(env, bytes, 0);
  size_t written = 0;
  if (!at) return 0;
  return good(env, rill_effect_save(effect_of(effect), at, (size_t)size, &written)) ? (jlong)written
                                                                                    : 0;
}

static void load(JNIEnv* env, jclass type, jlong effect, jobject bytes, jint size) {
  RILL_UNUSED(type);
  const char* at = rill_jni_at(env, bytes, 0);
  if (at) good(env, rill_effect_load(effect_of(effect), at, (size_t)size));
}

/* The destination of the new frames of one output, one frame after the other. */
typedef struct heard {
  size_t output;
  uint32_t axis;
  float* to;
  int64_t left; /* floats */
  int64_t frames;
  int full;
} heard;

static void keep(void* user, size_t output, const rill_view* view) {
  heard* mine = user;
  if (output != mine->output || mine->axis >= view->rank || mine->full) return;
  int64_t elements = 1; /* of a frame */
  for (uint32_t axis = 0; axis < view->rank; ++axis) {
    if (axis != mine->axis) elements *= view->shape[axis];
  }
  for (int64_t frame = 0; frame < view->shape[mine->axis]; ++frame) {
    if (elements > mine->left) {
      mine->full = 1;
      return;
    }
    const float* from = (const float*)view->data + frame * view->strides[mine->axis];
    int64_t index[RILL_MAX_RANK] = {0};
    for (int64_t i = 0; i < elements; ++i) {
      int64_t offset = 0;
      for (uint32_t axis = 0; axis < view->rank; ++axis)
        offset += index[axis] * view->strides[axis];
      mine->to[i] = from[offset];
      for (int64_t axis = (int64_t)view->rank - 1; axis >= 0; --axis) {
        if ((uint32_t)axis == mine->axis) continue;
        if (++index[axis] < view->shape[axis]) break;
        index[axis] = 0;
      }
    }
    mine->to += elements;
    mine->left -= elements;
    ++mine->frames;
  }
}

static jlong hear(JNIEnv* env, jclass type, jlong listener, jobject sound, jint sound_position,
                  jobject reference, jint reference_position, jint format, jint channels,
                  jint reference_channels, jint frames, jint output, jint axis, jobject out,
                  jint out_position, jint size) {
  RILL_UNUSED(type);
  char* to = rill_jni_at(env, out, out_position);
  char* from = to && sound ? rill_jni_at(env, sound, sound_position) : NULL;
  rill_sound second;
  if (!to || (sound && !from) ||
      !read_reference(env, reference, reference_position, format, reference_channels, frames,
                      &second)) {
    return 0;
  }
  heard mine = {.output = (size_t)output,
                .axis = (uint32_t)axis,
                .to = (float*)to,
                .left = size / (int64_t)sizeof(float)};
  const rill_sound source = sound_of(from, format, channels, frames);
  rill_listener* const of = listener_of(listener);
  const rill_status status = !sound      ? rill_listener_finish(of, keep, &mine)
                             : reference ? rill_listener_push_with(of, &source, &second, keep, &mine)
                                         : rill_listener_push(of, &source, keep, &mine);
  if (!good(env, status)) return 0;
  if (mine.full) rill_jni_throw(env, RILL_E_ARG, "the new frames do not fit into the buffer");
  return mine.frames;
}

static void reset_listener(JNIEnv* env, jclass type, jlong listener) {
  RILL_UNUSED(type);
  good(env, rill_listener_reset(listener_of(listener)));
}

#define RILL_NATIVE(name, signature, function) \
  { (char*)name, (char*)signature, (void*)(function) }

const JNINativeMethod kRillAudioMethods[] = {
    RILL_NATIVE("newEffect", "(J[J)J", new_effect),
    RILL_NATIVE("freeEffect", "(J)V", free_effect),
    RILL_NATIVE("latencyOfEffect", "(J)J", latency_of_effect),
    RILL_NATIVE("processEffect", 
                "(JLjava/nio/ByteBuffer;ILjava/nio/ByteBuffer;ILjava/nio/ByteBuffer;IIIII)Z",
                process),
    RILL_NATIVE("work", "(J)J", work),
    RILL_NATIVE("late", "(J)J", late),
    RILL_NATIVE("setEffect", "(JIZ)V", set_effect),
    RILL_NATIVE("stateSizeOfEffect", "(J)J", state_size),
    RILL_NATIVE("saveEffect", "(JLjava/nio/ByteBuffer;I)J", save),
    RILL_NATIVE("loadEffect", "(JLjava/nio/ByteBuffer;I)V", load),
    RILL_NATIVE("newListener", "(J[J)J", new_listener),
    RILL_NATIVE("freeListener", "(J)V", free_listener),
    RILL_NATIVE("latencyOfListener", "(JI)J", latency_of_listener),
    RILL_NATIVE("heard",
                "(JLjava/nio/ByteBuffer;ILjava/nio/ByteBuffer;IIIIIIILjava/nio/ByteBuffer;II)J",
                hear),
    RILL_NATIVE("resetListener", "(J)V", reset_listener),
};
const jint kRillAudioMethodCount = (jint)(sizeof kRillAudioMethods / sizeof *kRillAudioMethods);
