/* The calls of rill.Native over rill.h. The library exports one symbol, JNI_OnLoad, which registers
 * the functions. */
#include <jni.h>
#include <stdlib.h>
#include <string.h>

#include "audio_jni.h"
#include "rill/rill.h"

#define RILL_UNUSED(name) (void)name

enum { kInput = RILL_INPUT, kOutput = RILL_OUTPUT };

static jclass exception_class;
static jmethodID exception_init;
static jclass bytes_class;
static jclass object_class;

/* The description of a session's input or output for pushes. */
typedef struct io {
  rill_dtype dtype;
  uint32_t rank;
  int32_t stream_axis;
  int64_t shape[RILL_MAX_RANK];
  int64_t bytes;
} io;

/* A session, with cached facts for its calls. */
typedef struct own {
  rill_session* session;
  size_t counts[2];
  io* ios[2];
} own;

static rill_model* model_of(jlong handle) { return (rill_model*)(intptr_t)handle; }
static rill_plan* plan_of(jlong handle) { return (rill_plan*)(intptr_t)handle; }
static own* own_of(jlong handle) { return (own*)(intptr_t)handle; }
static jlong handle_of(const void* object) { return (jlong)(intptr_t)object; }

/* ---- texts and failures ---------------------------------------------------------------------- */

static jbyteArray bytes_of(JNIEnv* env, const char* text) {
  const jsize size = (jsize)strlen(text);
  jbyteArray bytes = (*env)->NewByteArray(env, size);
  if (bytes) (*env)->SetByteArrayRegion(env, bytes, 0, size, (const jbyte*)text);
  return bytes;
}

static void throw_failure(JNIEnv* env, rill_status status) {
  rill_error_info info = {.size = sizeof info, .message = "", .node = "", .op = "", .file = "",
                          .hint = ""};
  rill_last_error_info(&info);
  jobject failure = NULL;
  jbyteArray message = bytes_of(env, info.message);
  jbyteArray node = message ? bytes_of(env, info.node) : NULL;
  jbyteArray op = node ? bytes_of(env, info.op) : NULL;
  jbyteArray file = op ? bytes_of(env, info.file) : NULL;
  jbyteArray hint = file ? bytes_of(env, info.hint) : NULL;
  if (hint) {
    failure = (*env)->NewObject(env, exception_class, exception_init, (jint)status, message, node,
                                op, file, (jint)info.line, hint);
  }
  if (failure) (*env)->Throw(env, (jthrowable)failure);
}

void rill_jni_throw(JNIEnv* env, rill_status status, const char* text) {
  jbyteArray message = bytes_of(env, text);
  jbyteArray none = message ? bytes_of(env, "") : NULL;
  jobject failure = none ? (*env)->NewObject(env, exception_class, exception_init, (jint)status,
                                             message, none, none, none, (jint)0, none)
                         : NULL;
  if (failure) (*env)->Throw(env, (jthrowable)failure);
}

/* Throws unless the status is RILL_OK; returns whether it is. */
static int good(JNIEnv* env, rill_status status) {
  if (status == RILL_OK) return 1;
  throw_failure(env, status);
  return 0;
}

static void throw_named(JNIEnv* env, const char* name, const char* message) {
  jclass type = (*env)->FindClass(env, name);
  if (type) (*env)->ThrowNew(env, type, message);
}

static void* allocated(JNIEnv* env, void* memory) {
  if (!memory) throw_named(env, "java/lang/OutOfMemoryError", "no memory is left for rill");
  return memory;
}

/* Returns a zero-terminated text; null for Java's null, or after a failure. Refuses a zero byte
 * within, which would truncate the text silently. */
static char* text_of(JNIEnv* env, jbyteArray bytes) {
  if (!bytes) return NULL;
  const jsize size = (*env)->GetArrayLength(env, bytes);
  char* text = allocated(env, malloc((size_t)size + 1));
  if (!text) return NULL;
  (*env)->GetByteArrayRegion(env, bytes, 0, size, (jbyte*)text);
  text[size] = 0;
  if (memchr(text, 0, (size_t)size)) {
    free(text);
    throw_named(env, "java/lang/IllegalArgumentException", "a text has a zero byte in it");
    return NULL;
  }
  return text;
}

static char* at_of(JNIEnv* env, jobject buffer, jint position) {
  char* bytes = (*env)->GetDirectBufferAddress(env, buffer);
  if (!bytes) {
    throw_named(env, "java/lang/IllegalArgumentException", "this buffer has no memory");
    return NULL;
  }
  return bytes + position;
}

char* rill_jni_at(JNIEnv* env, jobject buffer, jint position) {
  return at_of(env, buffer, position);
}

/* ---- library and model ----------------------------------------------------------------------- */

static jbyteArray version(JNIEnv* env, jclass type) {
  RILL_UNUSED(type);
  return bytes_of(env, rill_version());
}

static jbyteArray build_info(JNIEnv* env, jclass type) {
  RILL_UNUSED(type);
  return bytes_of(env, rill_build_info());
}

static jlong loaded(JNIEnv* env, const char* path, const void* bytes, size_t size,
                    jbyteArray constants) {
  rill_load_opts opts = {.size = sizeof opts};
  char* text = text_of(env, constants);
  if ((*env)->ExceptionCheck(env)) return 0;
  opts.constants = text;
  rill_model* model = NULL;
  const rill_status status =
      path ? rill_load(path, &opts, &model) : rill_load_memory(bytes, size, &opts, &model);
  free(text);
  return good(env, status) ? handle_of(model) : 0;
}

static jlong load(JNIEnv* env, jclass type, jbyteArray path, jbyteArray constants) {
  RILL_UNUSED(type);
  char* text = text_of(env, path);
  const jlong model = text ? loaded(env, text, NULL, 0, constants) : 0;
  free(text);
  return model;
}

static jlong load_memory(JNIEnv* env, jclass type, jbyteArray bytes, jbyteArray constants) {
  RILL_UNUSED(type);
  const jsize size = (*env)->GetArrayLength(env, bytes);
  jbyte* elements = (*env)->GetByteArrayElements(env, bytes, NULL);
  if (!allocated(env, elements)) return 0;
  const jlong model = loaded(env, NULL, elements, (size_t)size, constants);
  (*env)->ReleaseByteArrayElements(env, bytes, elements, JNI_ABORT);
  return model;
}

static jlong load_direct(JNIEnv* env, jclass type, jobject bytes, jint position, jint size,
                         jbyteArray constants) {
  RILL_UNUSED(type);
  const char* at = at_of(env, bytes, position);
  return at ? loaded(env, NULL, at, (size_t)size, constants) : 0;
}

static void save(JNIEnv* env, jclass type, jlong model, jbyteArray path) {
  RILL_UNUSED(type);
  char* text = text_of(env, path);
  if (text) good(env, rill_save(model_of(model), text));
  free(text);
}

static jlong clone_model(JNIEnv* env, jclass type, jlong model) {
  RILL_UNUSED(type);
  rill_model* copy = NULL;
  return good(env, rill_model_clone(model_of(model), &copy)) ? handle_of(copy) : 0;
}

static void free_model(JNIEnv* env, jclass type, jlong model) {
  RILL_UNUSED(env);
  RILL_UNUSED(type);
  rill_model_free(model_of(model));
}

static jint count_of_model(JNIEnv* env, jclass type, jlong model, jint dir) {
  RILL_UNUSED(env);
  RILL_UNUSED(type);
  return (jint)rill_model_count(model_of(model), (rill_dir)dir);
}

static jlongArray longs_of(JNIEnv* env, const int64_t* values, size_t count) {
  jlongArray longs = (*env)->NewLongArray(env, (jsize)count);
  if (longs) (*env)->SetLongArrayRegion(env, longs, 0, (jsize)count, (const jlong*)values);
  return longs;
}

/* Name, dims, numbers and shape, in the order of TensorInfo. */
static jobjectArray io_parts(JNIEnv* env, const rill_io_info* info) {
  int32_t scale = 0;
  memcpy(&scale, &info->scale, sizeof scale);
  const int64_t numbers[] = {info->dtype, info->zero_point, info->bytes, info->stream_axis, scale};
  jobjectArray parts = (*env)->NewObjectArray(env, 4, object_class, NULL);
  jobjectArray dims = (*env)->NewObjectArray(env, (jsize)info->rank, bytes_class, NULL);
  jbyteArray name = bytes_of(env, info->name);
  jlongArray values = longs_of(env, numbers, sizeof numbers / sizeof *numbers);
  if (!parts || !dims || !name || !values) return NULL;
  for (uint32_t axis = 0; axis < info->rank; ++axis) {
    jbyteArray text = bytes_of(env, info->dims[axis]);
    if (!text) return NULL;
    (*env)->SetObjectArrayElement(env, dims, (jsize)axis, text);
    (*env)->DeleteLocalRef(env, text);
  }
  (*env)->SetObjectArrayElement(env, parts, 0, name);
  (*env)->SetObjectArrayElement(env, parts, 1, dims);
  (*env)->SetObjectArrayElement(env, parts, 2, values);
  if (info->shape) {
    (*env)->SetObjectArrayElement(env, parts, 3, longs_of(env, info->shape, info->rank));
  }
  return parts;
}

static jobjectArray io_of_model(JNIEnv* env, jclass type, jlong model, jint dir, jint index) {
  RILL_UNUSED(type);
  rill_io_info info = {.size = sizeof info};
  if (!good(env, rill_model_io(model_of(model), (rill_dir)dir, (size_t)index, &info))) return NULL;
  return io_parts(env, &info);
}

static jbyteArray symbol(JNIEnv* env, jclass type, jlong model, jint index) {
  RILL_UNUSED(type);
  const char* name = NULL;
  if (!good(env, rill_model_symbol(model_of(model), (size_t)index, &name)) || !name) return NULL;
  return bytes_of(env, name);
}

typedef rill_status (*two_texts)(rill_model*, const char*, const char*);

static void with_texts(JNIEnv* env, two_texts call, jlong model, jbyteArray a, jbyteArray b) {
  char* first = text_of(env, a);
  char* second = first ? text_of(env, b) : NULL;
  if (second) good(env, call(model_of(model), first, second));
  free(first);
  free(second);
}

static void set_symbol(JNIEnv* env, jclass type, jlong model, jbyteArray name, jbyteArray value) {
  RILL_UNUSED(type);
  with_texts(env, rill_model_set_symbol, model, name, value);
}

static void pulse(JNIEnv* env, jclass type, jlong model, jbyteArray name, jbyteArray frames) {
  RILL_UNUSED(type);
  with_texts(env, rill_model_pulse, model, name, frames);
}

static void window(JNIEnv* env, jclass type, jlong model, jbyteArray name, jlong left, jlong step,
                   jlong right) {
  RILL_UNUSED(type);
  char* symbol = text_of(env, name);
  if (symbol) good(env, rill_model_window(model_of(model), symbol, left, step, right));
  free(symbol);
}

static void feedback(JNIEnv* env, jclass type, jlong model, jbyteArray output, jbyteArray input) {
  RILL_UNUSED(type);
  with_texts(env, rill_model_feedback, model, output, input);
}

static void context(JNIEnv* env, jclass type, jlong model, jbyteArray input, jlong frames) {
  RILL_UNUSED(type);
  char* text = text_of(env, input);
  if (text) good(env, rill_model_context(model_of(model), text, frames));
  free(text);
}

static jint properties(JNIEnv* env, jclass type, jlong model) {
  RILL_UNUSED(env);
  RILL_UNUSED(type);
  return (jint)rill_model_properties(model_of(model));
}

static jobjectArray key_and_text(JNIEnv* env, const rill_property* found) {
  jobjectArray pair = (*env)->NewObjectArray(env, 2, bytes_class, NULL);
  jbyteArray key = bytes_of(env, found->key);
  jbyteArray text = bytes_of(env, found->text);
  if (!pair || !key || !text) return NULL;
  (*env)->SetObjectArrayElement(env, pair, 0, key);
  (*env)->SetObjectArrayElement(env, pair, 1, text);
  return pair;
}

static jobjectArray property(JNIEnv* env, jclass type, jlong model, jint index) {
  RILL_UNUSED(type);
  rill_property found = {.size = sizeof found};
  if (!good(env, rill_model_property(model_of(model), (size_t)index, &found))) return NULL;
  return key_and_text(env, &found);
}

/* ---- plan ------------------------------------------------------------------------------------ */

static jlong prepare(JNIEnv* env, jclass type, jlong model, jboolean plain, jlong max_bytes) {
  RILL_UNUSED(type);
  const rill_plan_opts opts = {
      .size = sizeof opts, .plain = plain ? 1 : 0, .max_session_bytes = max_bytes};
  rill_plan* plan = NULL;
  return good(env, rill_prepare(model_of(model), &opts, &plan)) ? handle_of(plan) : 0;
}

/* Reads OpenOptions.all, in its order; returns 0 after a failure. */
static int open_opts(JNIEnv* env, jlongArray options, rill_open_opts* opts) {
  jlong all[6];
  (*env)->GetLongArrayRegion(env, options, 0, sizeof all / sizeof all[0], all);
  if ((*env)->ExceptionCheck(env)) return 0;
  *opts = (rill_open_opts){.size = sizeof *opts,
                           .read_file = all[0] != 0,
                           .max_file_bytes = all[1],
                           .max_session_bytes = all[2],
                           .max_step_work = all[3],
                           .max_outputs = all[4],
                           .max_buffers = all[5]};
  return 1;
}

static jlong open_plan(JNIEnv* env, jclass type, jbyteArray path, jlongArray options) {
  RILL_UNUSED(type);
  rill_open_opts opts;
  if (!open_opts(env, options, &opts)) return 0;
  char* text = text_of(env, path);
  if (!text) return 0;
  rill_plan* plan = NULL;
  const rill_status status = rill_plan_open_opts(text, &opts, &plan);
  free(text);
  return good(env, status) ? handle_of(plan) : 0;
}

/* Returns the address of a byte of a direct buffer modulo 64. */
static jint offset_in_64(JNIEnv* env, jclass type, jobject bytes, jint position) {
  RILL_UNUSED(type);
  const char* at = at_of(env, bytes, position);
  return at ? (jint)((uintptr_t)at % 64) : 0;
}

static jlong open_direct(JNIEnv* env, jclass type, jobject bytes, jint position, jint size,
                         jlongArray options) {
  RILL_UNUSED(type);
  rill_open_opts opts;
  if (!open_opts(env, options, &opts)) return 0;
  const char* at = at_of(env, bytes, position);
  if (!at) return 0;
  rill_plan* plan = NULL;
  return good(env, rill_plan_map_opts(at, (size_t)size, &opts, &plan)) ? handle_of(plan) : 0;
}

static void free_plan(JNIEnv* env, jclass type, jlong plan) {
  RILL_UNUSED(env);
  RILL_UNUSED(type);
  rill_plan_release(plan_of(plan));
}

static jint count_of_plan(JNIEnv* env, jclass type, jlong plan, jint dir) {
  RILL_UNUSED(env);
  RILL_UNUSED(type);
  return (jint)rill_plan_count(plan_of(plan), (rill_dir)dir);
}

static jobjectArray io_of_plan(JNIEnv* env, jclass type, jlong plan, jint dir, jint index) {
  RILL_UNUSED(type);
  rill_io_info info = {.size = sizeof info};
  if (!good(env, rill_plan_io(plan_of(plan), (rill_dir)dir, (size_t)index, &info))) return NULL;
  return io_parts(env, &info);
}

static jint properties_of_plan(JNIEnv* env, jclass type, jlong plan) {
  RILL_UNUSED(env);
  RILL_UNUSED(type);
  return (jint)rill_plan_properties(plan_of(plan));
}

static jobjectArray property_of_plan(JNIEnv* env, jclass type, jlong plan, jint index) {
  RILL_UNUSED(type);
  rill_property found = {.size = sizeof found};
  if (!good(env, rill_plan_property(plan_of(plan), (size_t)index, &found))) return NULL;
  return key_and_text(env, &found);
}

static jlongArray stream_of_plan(JNIEnv* env, jclass type, jlong plan, jint output) {
  RILL_UNUSED(type);
  rill_stream_info info = {.size = sizeof info};
  if (!good(env, rill_plan_stream(plan_of(plan), (size_t)output, &info))) return NULL;
  const int64_t numbers[] = {info.axis,        info.pulse,    info.delay,
                             info.input,       info.input_pulse, info.delay_input_frames,
                             info.rate_num,    info.rate_den, info.flush_steps};
  return longs_of(env, numbers, sizeof numbers / sizeof *numbers);
}

/* ---- session --------------------------------------------------------------------------------- */

static void free_own(own* mine) {
  if (!mine) return;
  rill_session_free(mine->session);
  free(mine->ios[kInput]);
  free(mine->ios[kOutput]);
  free(mine);
}

static own* new_own(size_t inputs, size_t outputs) {
  own* mine = calloc(1, sizeof *mine);
  if (!mine) return NULL;
  mine->counts[kInput] = inputs;
  mine->counts[kOutput] = outputs;
  for (int dir = 0; dir < 2; ++dir) {
    mine->ios[dir] = calloc(mine->counts[dir] + 1, sizeof(io));
    if (mine->ios[dir]) continue;
    free_own(mine);
    return NULL;
  }
  return mine;
}

static rill_status describe(own* mine, const rill_plan* plan) {
  for (int dir = 0; dir < 2; ++dir) {
    for (size_t i = 0; i < mine->counts[dir]; ++i) {
      rill_io_info info = {.size = sizeof info};
      const rill_status status = rill_plan_io(plan, (rill_dir)dir, i, &info);
      if (status != RILL_OK) return status;
      io* to = &mine->ios[dir][i];
      to->dtype = info.dtype;
      to->rank = info.rank;
      to->stream_axis = info.stream_axis;
      to->bytes = info.bytes;
      if (info.shape) memcpy(to->shape, info.shape, info.rank * sizeof *info.shape);
    }
  }
  return RILL_OK;
}

static jlong open_session(JNIEnv* env, jclass type, jlong plan, jlong max_push) {
  RILL_UNUSED(type);
  const rill_plan* of = plan_of(plan);
  own* mine = allocated(
      env, new_own(rill_plan_count(of, RILL_INPUT), rill_plan_count(of, RILL_OUTPUT)));
  if (!mine) return 0;
  const rill_session_opts opts = {.size = sizeof opts, .max_push = max_push};
  rill_status status = describe(mine, of);
  if (status == RILL_OK) status = rill_session_open(plan_of(plan), &opts, &mine->session);
  if (status == RILL_OK) return handle_of(mine);
  throw_failure(env, status);
  free_own(mine);
  return 0;
}

static jlong clone_session(JNIEnv* env, jclass type, jlong session) {
  RILL_UNUSED(type);
  const own* from = own_of(session);
  own* mine = allocated(env, new_own(from->counts[kInput], from->counts[kOutput]));
  if (!mine) return 0;
  for (int dir = 0; dir < 2; ++dir) {
    memcpy(mine->ios[dir], from->ios[dir], from->counts[dir] * sizeof(io));
  }
  const rill_status status = rill_session_clone(from->session, &mine->session);
  if (status == RILL_OK) return handle_of(mine);
  throw_failure(env, status);
  free_own(mine);
  return 0;
}

static void free_session(JNIEnv* env, jclass type, jlong session) {
  RILL_UNUSED(env);
  RILL_UNUSED(type);
  free_own(own_of(session));
}

static const io* io_at(JNIEnv* env, const own* mine, int dir, jint index) {
  if (index >= 0 && (size_t)index < mine->counts[dir]) return &mine->ios[dir][index];
  throw_named(env, "java/lang/IndexOutOfBoundsException", "there is no such input or output");
  return NULL;
}

static void bind(JNIEnv* env, jclass type, jlong session, jint dir, jint index, jobject data,
                 jint position, jint size) {
  RILL_UNUSED(type);
  const own* mine = own_of(session);
  const io* of = io_at(env, mine, dir, index);
  if (!of) return;
  if (of->bytes != size) {
    throw_named(env, "java/lang/IllegalArgumentException",
                "the size of a buffer is not that of the input or output");
    return;
  }
  char* at = at_of(env, data, position);
  if (!at) return;
  const rill_view view = {
      .size = sizeof view, .dtype = of->dtype, .rank = of->rank, .shape = of->shape, .data = at};
  const size_t i = (size_t)index;
  good(env, dir == kInput ? rill_bind_input(mine->session, i, &view)
                          : rill_bind_output(mine->session, i, &view));
}

static void copy_out(JNIEnv* env, jclass type, jlong session, jint dir, jint index, jobject data) {
  RILL_UNUSED(type);
  const own* mine = own_of(session);
  const io* of = io_at(env, mine, dir, index);
  char* at = of ? at_of(env, data, 0) : NULL;
  if (!at) return;
  rill_view view = {.size = sizeof view};
  const size_t i = (size_t)index;
  const rill_status status = dir == kInput ? rill_input_buffer(mine->session, i, &view)
                                           : rill_output_buffer(mine->session, i, &view);
  if (good(env, status) && of->bytes > 0) memcpy(at, view.data, (size_t)of->bytes);
}

static void reset(JNIEnv* env, jclass type, jlong session) {
  RILL_UNUSED(type);
  good(env, rill_session_reset(own_of(session)->session));
}

static void step(JNIEnv* env, jclass type, jlong session) {
  RILL_UNUSED(type);
  good(env, rill_step(own_of(session)->session));
}

static void step_partial(JNIEnv* env, jclass type, jlong session, jlong frames) {
  RILL_UNUSED(type);
  good(env, rill_step_partial(own_of(session)->session, frames));
}

static jlong flush(JNIEnv* env, jclass type, jlong session) {
  RILL_UNUSED(type);
  int64_t left = 0;
  return good(env, rill_flush(own_of(session)->session, &left)) ? left : 0;
}

static jlong valid_first(JNIEnv* env, jclass type, jlong session, jint output) {
  RILL_UNUSED(type);
  int64_t first = 0, count = 0;
  const rill_session* of = own_of(session)->session;
  return good(env, rill_valid_frames(of, (size_t)output, &first, &count)) ? first : 0;
}

static jlong valid_count(JNIEnv* env, jclass type, jlong session, jint output) {
  RILL_UNUSED(type);
  int64_t first = 0, count = 0;
  const rill_session* of = own_of(session)->session;
  return good(env, rill_valid_frames(of, (size_t)output, &first, &count)) ? count : 0;
}

/* Makes a view of all frames in a buffer, with extents in `shape`; fails unless the buffer holds
 * whole frames. */
static int frames_in(JNIEnv* env, const io* of, char* at, jint size, int64_t* shape,
                     rill_view* view) {
  memcpy(shape, of->shape, sizeof of->shape);
  *view = (rill_view){
      .size = sizeof *view, .dtype = of->dtype, .rank = of->rank, .shape = shape, .data = at};
  if (of->stream_axis < 0) return 1; /* rill's call reports the error */
  const int64_t extent = of->shape[of->stream_axis];
  const int64_t frame = extent > 0 ? of->bytes / extent : 0;
  if (frame > 0 && size % frame == 0) {
    shape[of->stream_axis] = size / frame;
    return 1;
  }
  throw_named(env, "java/lang/IllegalArgumentException", "a buffer does not hold whole frames");
  return 0;
}

static jlong push(JNIEnv* env, jclass type, jlong session, jint input, jobject frames,
                  jint position, jint size) {
  RILL_UNUSED(type);
  const own* mine = own_of(session);
  const io* of = io_at(env, mine, kInput, input);
  char* at = of ? at_of(env, frames, position) : NULL;
  int64_t shape[RILL_MAX_RANK];
  rill_view view;
  int64_t taken = 0;
  if (!at || !frames_in(env, of, at, size, shape, &view)) return 0;
  return good(env, rill_push(mine->session, (size_t)input, &view, &taken)) ? taken : 0;
}

static jlong pull(JNIEnv* env, jclass type, jlong session, jint output, jobject frames,
                  jint position, jint size) {
  RILL_UNUSED(type);
  const own* mine = own_of(session);
  const io* of = io_at(env, mine, kOutput, output);
  char* at = of ? at_of(env, frames, position) : NULL;
  int64_t shape[RILL_MAX_RANK];
  rill_view view;
  int64_t given = 0;
  if (!at || !frames_in(env, of, at, size, shape, &view)) return 0;
  return good(env, rill_pull(mine->session, (size_t)output, &view, &given)) ? given : 0;
}

static void finish(JNIEnv* env, jclass type, jlong session) {
  RILL_UNUSED(type);
  good(env, rill_finish(own_of(session)->session));
}

static jlong state_size(JNIEnv* env, jclass type, jlong session) {
  RILL_UNUSED(type);
  size_t size = 0;
  return good(env, rill_state_size(own_of(session)->session, &size)) ? (jlong)size : 0;
}

static jlong save_state(JNIEnv* env, jclass type, jlong session, jobject bytes, jint position,
                        jint size) {
  RILL_UNUSED(type);
  char* at = at_of(env, bytes, position);
  size_t written = 0;
  if (!at) return 0;
  const rill_status status =
      rill_state_save(own_of(session)->session, at, (size_t)size, &written);
  return good(env, status) ? (jlong)written : 0;
}

static void load_state(JNIEnv* env, jclass type, jlong session, jobject bytes, jint position,
                       jint size) {
  RILL_UNUSED(type);
  const char* at = at_of(env, bytes, position);
  if (at) good(env, rill_state_load(own_of(session)->session, at, (size_t)size));
}

/* ---- registration ----------------------------------------------------------------------- */

#define RILL_NATIVE(name, signature, function) {(char*)name, (char*)signature, (void*)(function)}

static const JNINativeMethod kMethods[] = {
    RILL_NATIVE("version", "()[B", version),
    RILL_NATIVE("buildInfo", "()[B", build_info),
    RILL_NATIVE("load", "([B[B)J", load),
    RILL_NATIVE("loadMemory", "([B[B)J", load_memory),
    RILL_NATIVE("loadDirect", "(Ljava/nio/ByteBuffer;II[B)J", load_direct),
    RILL_NATIVE("save", "(J[B)V", save),
    RILL_NATIVE("cloneModel", "(J)J", clone_model),
    RILL_NATIVE("freeModel", "(J)V", free_model),
    RILL_NATIVE("countOfModel", "(JI)I", count_of_model),
    RILL_NATIVE("ioOfModel", "(JII)[Ljava/lang/Object;", io_of_model),
    RILL_NATIVE("symbol", "(JI)[B", symbol),
    RILL_NATIVE("setSymbol", "(J[B[B)V", set_symbol),
    RILL_NATIVE("pulse", "(J[B[B)V", pulse),
    RILL_NATIVE("window", "(J[BJJJ)V", window),
    RILL_NATIVE("feedback", "(J[B[B)V", feedback),
    RILL_NATIVE("context", "(J[BJ)V", context),
    RILL_NATIVE("properties", "(J)I", properties),
    RILL_NATIVE("property", "(JI)[[B", property),
    RILL_NATIVE("prepare", "(JZJ)J", prepare),
    RILL_NATIVE("openPlan", "([B[J)J", open_plan),
    RILL_NATIVE("openDirect", "(Ljava/nio/ByteBuffer;II[J)J", open_direct),
    RILL_NATIVE("offsetIn64", "(Ljava/nio/ByteBuffer;I)I", offset_in_64),
    RILL_NATIVE("propertiesOfPlan", "(J)I", properties_of_plan),
    RILL_NATIVE("propertyOfPlan", "(JI)[[B", property_of_plan),
    RILL_NATIVE("freePlan", "(J)V", free_plan),
    RILL_NATIVE("countOfPlan", "(JI)I", count_of_plan),
    RILL_NATIVE("ioOfPlan", "(JII)[Ljava/lang/Object;", io_of_plan),
    RILL_NATIVE("streamOfPlan", "(JI)[J", stream_of_plan),
    RILL_NATIVE("open", "(JJ)J", open_session),
    RILL_NATIVE("cloneSession", "(J)J", clone_session),
    RILL_NATIVE("freeSession", "(J)V", free_session),
    RILL_NATIVE("bind", "(JIILjava/nio/ByteBuffer;II)V", bind),
    RILL_NATIVE("copyOut", "(JIILjava/nio/ByteBuffer;)V", copy_out),
    RILL_NATIVE("reset", "(J)V", reset),
    RILL_NATIVE("step", "(J)V", step),
    RILL_NATIVE("stepPartial", "(JJ)V", step_partial),
    RILL_NATIVE("flush", "(J)J", flush),
    RILL_NATIVE("validFirst", "(JI)J", valid_first),
    RILL_NATIVE("validCount", "(JI)J", valid_count),
    RILL_NATIVE("push", "(JILjava/nio/ByteBuffer;II)J", push),
    RILL_NATIVE("pull", "(JILjava/nio/ByteBuffer;II)J", pull),
    RILL_NATIVE("finish", "(J)V", finish),
    RILL_NATIVE("stateSize", "(J)J", state_size),
    RILL_NATIVE("saveState", "(JLjava/nio/ByteBuffer;II)J", save_state),
    RILL_NATIVE("loadState", "(JLjava/nio/ByteBuffer;II)V", load_state),
};

static jclass kept_class(JNIEnv* env, const char* name) {
  jclass local = (*env)->FindClass(env, name);
  return local ? (jclass)(*env)->NewGlobalRef(env, local) : NULL;
}

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* vm, void* reserved) {
  RILL_UNUSED(reserved);
  JNIEnv* env = NULL;
  if ((*vm)->GetEnv(vm, (void**)&env, JNI_VERSION_1_6) != JNI_OK) return JNI_ERR;
  exception_class = kept_class(env, "rill/RillException");
  bytes_class = exception_class ? kept_class(env, "[B") : NULL;
  object_class = bytes_class ? kept_class(env, "java/lang/Object") : NULL;
  if (!object_class) return JNI_ERR;
  exception_init = (*env)->GetMethodID(env, exception_class, "<init>", "(I[B[B[B[BI[B)V");
  jclass native = exception_init ? (*env)->FindClass(env, "rill/Native") : NULL;
  if (!native) return JNI_ERR;
  const jint count = (jint)(sizeof kMethods / sizeof *kMethods);
  if ((*env)->RegisterNatives(env, native, kMethods, count) != JNI_OK) return JNI_ERR;
  if ((*env)->RegisterNatives(env, native, kRillAudioMethods, kRillAudioMethodCount) != JNI_OK) {
    return JNI_ERR;
  }
  return JNI_VERSION_1_6;
}
