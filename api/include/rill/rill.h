/** @file
 * Run neural networks exported as NNEF or ONNX, whole or a few frames at a time.
 *
 * Every function checks its pointers, handles, indices and counts. A function that can fail returns
 * a rill_status; rill_last_error gives the reason. A failed call changes nothing. No exception
 * leaves the library.
 * Returned texts and arrays live as long as the handle of the call, or until the model changes.
 * A model or a session may be used by one thread at a time, a plan or rill_threads by any number.
 * A step runs on the thread that calls it, unless its session has rill_threads.
 * Structs begin with their size, so that they can grow: `rill_view view = {.size = sizeof view};`
 */
#ifndef RILL_RILL_H_
#define RILL_RILL_H_

#include <stddef.h>
#include <stdint.h>

/* Define RILL_STATIC to link rill statically; the CMake target of the static library does so. */
#if defined(RILL_STATIC)
#define RILL_API
#elif defined(_WIN32) && defined(RILL_BUILDING)
#define RILL_API __declspec(dllexport)
#elif defined(_WIN32)
#define RILL_API __declspec(dllimport)
#elif defined(__GNUC__)
#define RILL_API __attribute__((visibility("default")))
#else
#define RILL_API
#endif

/* Marks a function that a real-time thread may call. Clang 20 warns if it calls an unmarked one. */
#if defined(__cplusplus) && defined(__has_cpp_attribute)
#if __has_cpp_attribute(clang::nonblocking)
#define RILL_REAL_TIME noexcept [[clang::nonblocking]]
#endif
#elif defined(__has_attribute)
#if __has_attribute(nonblocking)
#define RILL_REAL_TIME __attribute__((nonblocking))
#endif
#endif
#if !defined(RILL_REAL_TIME) && defined(__cplusplus)
#define RILL_REAL_TIME noexcept
#elif !defined(RILL_REAL_TIME)
#define RILL_REAL_TIME
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Version of this interface. It changes only when programs must be recompiled. */
#define RILL_ABI 2u
/** Largest number of axes of a tensor. */
#define RILL_MAX_RANK 8

/** A graph read from a file: symbols can be bound, a stream symbol can be pulsed. */
typedef struct rill_model rill_model;
/** A model prepared to run: immutable, reference-counted, shared between threads. */
typedef struct rill_plan rill_plan;
/** One run or one stream of a plan, with all the memory that it needs. */
typedef struct rill_session rill_session;
/** Threads that share the work of a step. */
typedef struct rill_threads rill_threads;

#ifdef __cplusplus /* callers may put any number into an enumeration, in C++ too */
#define RILL_ANY_INT : int
#else
#define RILL_ANY_INT
#endif

/** The result of a call. */
typedef enum rill_status RILL_ANY_INT {
  RILL_OK = 0,            /**< success */
  RILL_E_ARG = 1,         /**< an invalid pointer, index, count or text */
  RILL_E_IO = 2,          /**< a file cannot be read or written */
  RILL_E_PARSE = 3,       /**< a file or an expression that is not well-formed */
  RILL_E_UNSUPPORTED = 4, /**< an operator, or a form of it, that this build cannot run */
  RILL_E_SHAPE = 5,       /**< extents that do not fit */
  RILL_E_DTYPE = 6,       /**< a type of elements that does not fit */
  RILL_E_SYMBOL = 7,      /**< an unknown or unbound symbol, or a value that an assertion forbids */
  RILL_E_PULSE = 8,       /**< the model cannot stream this way */
  RILL_E_STATE = 9,       /**< a call that the current state does not allow */
  RILL_E_NOMEM = 10,      /**< memory ran out, or a limit on it was reached */
  RILL_E_ABI = 11,        /**< a struct size that this library does not know */
  RILL_E_INTERNAL = 12,   /**< a bug in rill */
  RILL_E_CANCELLED = 13,  /**< the function of rill_set_progress ended the call */
  RILL_E_NOT_REACHED = 14 /**< an audit compared no stream that is long enough */
} rill_status;

/** The type of the elements of a tensor. */
typedef enum rill_dtype RILL_ANY_INT {
  RILL_BOOL = 0, /**< one byte, 0 or 1 */
  RILL_U8 = 1,   /**< uint8_t */
  RILL_U16 = 2,  /**< uint16_t */
  RILL_U32 = 3,  /**< uint32_t */
  RILL_U64 = 4,  /**< uint64_t */
  RILL_I8 = 5,   /**< int8_t */
  RILL_I16 = 6,  /**< int16_t */
  RILL_I32 = 7,  /**< int32_t */
  RILL_I64 = 8,  /**< int64_t */
  RILL_F16 = 9,  /**< IEEE 754 binary16 */
  RILL_BF16 = 10,   /**< the upper half of an f32 */
  RILL_F32 = 11,    /**< float */
  RILL_F64 = 12,    /**< double */
  RILL_STRING = 13, /**< text, of no fixed size */
  RILL_DIM = 14,    /**< a symbolic number; int64_t when the symbols are bound */
  RILL_QU8 = 15,    /**< real = (q - zero_point) * scale */
  RILL_QI8 = 16,    /**< as RILL_QU8, signed */
  RILL_QI32 = 17,   /**< as RILL_QU8, of 32 bits */
  RILL_BLOB = 18    /**< opaque bytes, of no fixed size */
} rill_dtype;

/** Inputs or outputs. */
typedef enum rill_dir RILL_ANY_INT {
  RILL_INPUT = 0, /**< the inputs */
  RILL_OUTPUT = 1 /**< the outputs */
} rill_dir;

/** @name Library */ /** @{ */

/** Return the RILL_ABI that the library was built with. */
RILL_API uint32_t rill_abi(void);
/** Return the version: "0.1.0". */
RILL_API const char* rill_version(void);
/** Return compiler, build type and operators in one line. */
RILL_API const char* rill_build_info(void);
/** Return the name of a status: "ok", "argument", "input/output", ... */
RILL_API const char* rill_status_name(rill_status status);
/** Return the bytes of one element; 0 for an unknown type. */
RILL_API size_t rill_dtype_size(rill_dtype dtype) RILL_REAL_TIME;
/** Return the name of a type, as "f32"; "unknown" for an unknown type. */
RILL_API const char* rill_dtype_name(rill_dtype dtype) RILL_REAL_TIME;

/** Return the last failure of this thread in one line; "" if there was none.
 *  Control characters, bidirectional overrides and bytes that are not UTF-8 are escaped as in C.
 *  Valid until the next failure of the thread. Real-time: yes. */
RILL_API const char* rill_last_error(void);

/** The parts of a failure. */
typedef struct rill_error_info {
  uint32_t size; /**< sizeof(rill_error_info) */
  rill_status code;    /**< status of the failed call */
  const char* message; /**< found and expected */
  const char* node;    /**< node of the graph; "" if unknown */
  const char* op;      /**< operator of that node; "" if unknown */
  const char* file;    /**< "" if unknown */
  int32_t line;        /**< 1-based, 0 if unknown */
  int32_t column;      /**< 1-based, 0 if unknown */
  const char* hint;    /**< remedy; "" if there is none */
} rill_error_info;

/** Return the parts of the last failure of this thread. Texts are valid as in rill_last_error. */
RILL_API rill_status rill_last_error_info(rill_error_info* info);

/** The importance of a message. */
typedef enum rill_log_level RILL_ANY_INT {
  RILL_LOG_WARN = 1, /**< the caller should know */
  RILL_LOG_INFO = 2  /**< the caller may want to know */
} rill_log_level;
/** Receives a message without a line break; `user` is that of rill_set_log. */
typedef void (*rill_log_fn)(void* user, rill_log_level level, const char* message);
/** Set the function that receives messages up to a level; null removes it. The library prints
 *  nothing. Thread: call it before other threads use rill; `log` runs on the thread that loads. */
RILL_API void rill_set_log(rill_log_fn log, void* user, rill_log_level level);

/** Cap the SIMD tier of plans that are prepared later: "scalar", "sse42", "avx2", "avx512", "neon";
 *  null removes the cap. A cap may exceed the CPU's tier. Loading, pulsing and preparing compute
 *  constants by the current tier: set the cap first if runs must have equal bits. Thread: any. */
RILL_API rill_status rill_set_cpu_limit(const char* tier);
/** Return the tier that a plan prepared now would use. */
RILL_API const char* rill_cpu(void);
/** @} */
/** @name Model */ /** @{ */

/** Limits of a file. 0 stands for the default, which is far above real models. */
typedef struct rill_load_opts {
  uint32_t size; /**< sizeof(rill_load_opts) */
  int64_t max_expanded_bytes; /**< of the file, and of its unpacked contents; 0: 4 GiB */
  int64_t max_ratio;          /**< unpacked bytes per byte of the file; 0: 2000 */
  int64_t max_entries;        /**< files in the archive; 0: 100 000 */
  int64_t max_text_bytes;     /**< of the graph's text; 0: 16 MiB, the maximum */
  int64_t max_nodes;          /**< of the graph; 0: 131 072 */
  int64_t max_symbols;        /**< of the graph; 0: 64 */
  int64_t max_folded_bytes;   /**< constants, read or computed; 0: 4 GiB */
  const char* constants;      /**< of ONNX: values of inputs, "sr=16000;h=0,0"; null: none */
  int32_t read_file;          /**< not 0: read large tensors instead of mapping their files */
} rill_load_opts;

/** Load a folder, tar, tgz or zip, recognised by content, a bare graph.nnef, or an ONNX file.
 *  `opts` may be null. An input with a value in `constants` becomes a constant, and can decide
 *  branches. The path must lead to a regular file or a folder with a graph.nnef: pipes, sockets and
 *  devices are refused. Folders, tars, external data are mapped: keep them while the model lives.
 *  Errors: RILL_E_IO, _PARSE, _UNSUPPORTED, _SHAPE, _DTYPE, with file, line and node. */
RILL_API rill_status rill_load(const char* path, const rill_load_opts* opts, rill_model** model);
/** Load from bytes, as rill_load does. They may be freed afterwards. */
RILL_API rill_status rill_load_memory(const void* bytes, size_t size, const rill_load_opts* opts,
                                      rill_model** model);
/** Write the model in the format of the suffix: .tgz or .tar.gz, .tar, .zip, else a folder. Atomic.
 *  Errors: RILL_E_IO; RILL_E_ARG if the folder exists; RILL_E_INTERNAL if it reads back changed. */
RILL_API rill_status rill_save(const rill_model* model, const char* path);
/** Copy the model; the copies share weights. */
RILL_API rill_status rill_model_clone(const rill_model* model, rill_model** copy);
/** Free the model. Null is allowed. */
RILL_API void rill_model_free(rill_model* model);

/** An input or output of a model or plan. */
typedef struct rill_io_info {
  uint32_t size; /**< sizeof(rill_io_info) */
  rill_dtype dtype;   /**< type of its elements */
  uint32_t rank;      /**< number of axes */
  int32_t zero_point; /**< of quantised types */
  float scale;        /**< of quantised types */
  const char* name;        /**< its name in the model */
  const char* text;        /**< "1,S,40,F32" */
  const char* const* dims; /**< one text per axis: "1", "S", "2*S+1" */
  const int64_t* shape;    /**< null while an axis is symbolic */
  int64_t bytes;           /**< -1 while an axis is symbolic */
  int32_t stream_axis;     /**< of a plan: the axis that streams; -1: none */
} rill_io_info;

/** Return the number of inputs or outputs; 0 for an invalid handle. */
RILL_API size_t rill_model_count(const rill_model* model, rill_dir dir);
/** Describe an input or output. Errors: RILL_E_ARG. */
RILL_API rill_status rill_model_io(const rill_model* model, rill_dir dir, size_t index,
                                   rill_io_info* info);
/** Find an input or output by name. Errors: RILL_E_ARG, with the existing names. */
RILL_API rill_status rill_model_find(const rill_model* model, rill_dir dir, const char* name,
                                     size_t* index);
/** Return the name of the free symbol at `index`; null past the last one. */
RILL_API rill_status rill_model_symbol(const rill_model* model, size_t index, const char** name);
/** Replace a symbol by a number or an expression in other symbols: ("B", "1"), ("T", "2*S").
 *  Errors: RILL_E_SYMBOL for an unknown symbol, with the known ones, and for a value that an
 *  assertion of the model forbids; RILL_E_STATE for the stream symbol of a pulsed model. */
RILL_API rill_status rill_model_set_symbol(rill_model* model, const char* symbol,
                                           const char* expression);
typedef struct rill_view rill_view;
/** Bind the free symbols that follow from the shapes of inputs: one view per input, in order. Only
 *  rank and shape are read; views without a shape are skipped. Symbols without a value stay free.
 *  Errors: RILL_E_SHAPE for a wrong rank, or for extents that no values of the symbols give;
 *  RILL_E_SYMBOL for values that an assertion forbids; RILL_E_STATE if pulsed. */
RILL_API rill_status rill_model_set_shapes(rill_model* model, const rill_view* inputs,
                                           size_t count);
/** Rewrite the model to run a few frames at a time: the symbol (null: "S") becomes the pulse, and
 *  delays and states keep the frames that later pulses need. The outputs of all pulses, joined and
 *  without their first `delay` frames, are those of the whole run.
 *  `pulse`: frames of the symbol ("8"), or "auto" for the pulse of least latency whose time per
 *  frame is close to the least. "auto:min=8,max=64,max_delay=20,max_latency=40" adds bounds in
 *  frames, each optional: min and max bound the pulse, max_delay the delay of the outputs, and
 *  max_latency the delay plus pulse - 1. `rill_plan_stream` gives the chosen pulse.
 *  Errors: RILL_E_PULSE, with every node that cannot stream, the reason and a remedy. */
RILL_API rill_status rill_model_pulse(rill_model* model, const char* symbol, const char* pulse);
/** Run the model over windows of left + step + right frames of the symbol (null: "S"), padded with
 *  zeros. Each window gives its middle `step` frames, and one row of outputs without the symbol.
 *  The outputs differ from the whole run's. Errors: RILL_E_PULSE, _STATE, _SYMBOL. */
RILL_API rill_status rill_model_window(rill_model* model, const char* symbol, int64_t left,
                                       int64_t step, int64_t right);

/** Feed an output of each step to an input of the next. Both become state of the session, with
 *  zeros at first. The model becomes a stream whose steps are runs of it.
 *  Either may be a part, as "out[1]" or "in[:,0:2]"; the rest stays an output or input, named with
 *  its range. Shapes may differ in axes of extent 1. They may also differ in the order of axes:
 *  "out.transpose(1,0)" states that order if the extents do not determine it.
 *  Errors: RILL_E_ARG, _SHAPE, _DTYPE; RILL_E_PULSE if it is pulsed. */
RILL_API rill_status rill_model_feedback(rill_model* model, const char* output, const char* input);
/** Keep the last `frames` frames of an input and put them before the frames of the next step, with
 *  zeros at first: the caller gives `frames` frames fewer per step. Errors: as above. */
RILL_API rill_status rill_model_context(rill_model* model, const char* input, int64_t frames);
/** State which axes of inputs and outputs hold frames, for a file without symbolic extents. A step
 *  takes as many frames as the axis has, and a stream any number. `names` must have an input;
 *  inputs of equal shapes get the same axis, and the axes of outputs are inferred from it. Call it
 *  after rill_model_feedback and before rill_model_context. Each step is a run of the model.
 *  Errors: RILL_E_ARG; RILL_E_SHAPE if an axis cannot be inferred; RILL_E_PULSE if it is pulsed. */
RILL_API rill_status rill_model_frames(rill_model* model, const char* const* names,
                                       const int64_t* axes, size_t count);

/** Options of an audit. */
typedef struct rill_audit_opts {
  uint32_t size; /**< sizeof(rill_audit_opts) */
  double seconds; /**< wall-clock time, after which the audit ends; 0: 2 */
  uint64_t seed;  /**< of the noise and of the random lengths */
} rill_audit_opts;

/** Result of an audit. Lengths are values of the stream symbol. */
typedef struct rill_audit_report {
  uint32_t size; /**< sizeof(rill_audit_report) */
  int64_t lengths;               /**< number of compared lengths */
  int64_t shortest;              /**< of the compared lengths */
  int64_t longest;               /**< of the compared lengths */
  int64_t undefined;             /**< lengths that the whole model refuses */
  int64_t refused;               /**< lengths that the whole model accepts and the stream refuses */
  int64_t edges;                 /**< lengths at which a condition of the model changes */
  int64_t edges_compared;        /**< number of `edges` that were compared */
  int64_t period;                /**< of the extents of wires, beyond all edges */
  int64_t remainders;            /**< compared remainders of lengths modulo the period */
  int64_t streams; /**< stepped, pushed, reset, saved, cloned, moved or stepped together */
  int64_t outputs; /**< compared outputs, whose values are finite and vary with the input */
  int64_t frames;  /**< compared frames of these outputs */
} rill_audit_report;

/** Compare a pulsed model with `whole`, its clone from before `rill_model_pulse` or `_window`, on
 *  noise of magnitudes from 1e-3 to 1e4: streams of many lengths, in every mode of this interface,
 *  with NaN after their ends. A model of windows is compared with one run of `whole` for each
 *  window. Symbols that are free in both become 2. `opts` and `report` may be null. Errors:
 *  RILL_E_STATE if a frame differs, with length, mode, output and place; if nothing was compared;
 *  if an output is not proven, because it never varied or was not finite. RILL_E_NOT_REACHED if
 *  nothing differs, but no compared stream filled every window of frames. RILL_E_PULSE if `pulsed`
 *  is not pulsed, or has other inputs. */
RILL_API rill_status rill_model_audit(const rill_model* whole, const rill_model* pulsed,
                                      const rill_audit_opts* opts, rill_audit_report* report);

/** Return the name of the operator at `index`, in alphabetical order, and the number of its nodes,
 *  loop bodies included. `name` becomes null past the last one. `nodes` may be null. */
RILL_API rill_status rill_model_operator(const rill_model* model, size_t index, const char** name,
                                         int64_t* nodes);

/** A property of a model's file: a key and its value. */
typedef struct rill_property {
  uint32_t size; /**< sizeof(rill_property) */
  rill_dtype dtype;           /**< type of the value */
  const char* key;            /**< "rill.sample_rate" */
  const char* text;           /**< the value as text */
  size_t count;               /**< elements */
  const int64_t* ints;        /**< null unless bool or integers */
  const double* floats;       /**< null unless floats */
  const char* const* strings; /**< null unless strings */
} rill_property;

/** Return the number of properties of the file; 0 for an invalid handle. */
RILL_API size_t rill_model_properties(const rill_model* model);
/** Return the property at `index`. Errors: RILL_E_ARG. */
RILL_API rill_status rill_model_property(const rill_model* model, size_t index,
                                         rill_property* property);
/** Find a property by key. Errors: RILL_E_ARG if there is none. */
RILL_API rill_status rill_model_property_find(const rill_model* model, const char* key,
                                              rill_property* property);
/** @} */
/** @name Plan */ /** @{ */

/** Options of rill_prepare. */
typedef struct rill_plan_opts {
  uint32_t size; /**< sizeof(rill_plan_opts) */
  int32_t plain;             /**< not 0: use the reference form of every operator, to compare */
  int64_t max_session_bytes; /**< refuse a plan whose sessions need more; 0: no limit */
} rill_plan_opts;

/** Make a plan: choose kernels and pack weights. The model may be freed then. `opts` may be null.
 *  Errors: RILL_E_SYMBOL with the unbound symbols; RILL_E_UNSUPPORTED, _SHAPE, _NOMEM. */
RILL_API rill_status rill_prepare(const rill_model* model, const rill_plan_opts* opts,
                                  rill_plan** plan);
/** Open a plan that `rill compile` wrote. The file is mapped and its weights are read in place, so
 *  that processes share them. A file for several CPUs gives the best plan that this CPU can run.
 *  The file need not be trusted: every fault in it is an error. Changing or truncating the file
 *  while the plan exists would end the process: rename a new file over it instead, or read it into
 *  memory by `read_file` of rill_open_opts.
 *  Errors: RILL_E_IO, also if the path is not a file; RILL_E_PARSE for a damaged file; RILL_E_ABI
 *  for another version; RILL_E_UNSUPPORTED if this CPU or build cannot run it; RILL_E_NOMEM. */
RILL_API rill_status rill_plan_open(const char* path, rill_plan** plan);
/** Open a plan in memory, as rill_plan_open does. The memory is aligned to 64 bytes and unchanged
 *  until the plan and all its sessions are freed. Errors: RILL_E_ARG for other memory; as above. */
RILL_API rill_status rill_plan_map(const void* bytes, size_t size, rill_plan** plan);

/** Limits of a compiled model, checked before sessions; 0: a default far above real models. */
typedef struct rill_open_opts {
  uint32_t size; /**< sizeof(rill_open_opts) */
  int32_t read_file;         /**< not 0: read the file, so that it may change later */
  int64_t max_file_bytes;    /**< 0: 16 GiB */
  int64_t max_session_bytes; /**< of a session with the default `max_push`; 0: 4 GiB */
  int64_t max_step_work;     /**< elements read or written plus operations, 8 multiply-adds of a
                                  matmul as 1; 0: 2^32 for a stream, 2^36 for a whole run */
  int64_t max_outputs;       /**< of outputs, and of inputs; 0: 65 536 */
  int64_t max_buffers;       /**< 0: 1 048 576 */
} rill_open_opts;

/** Open a plan within limits; null stands for the defaults, as in rill_plan_open and rill_plan_map.
 *  Errors: RILL_E_NOMEM for a plan beyond a limit; as above. */
RILL_API rill_status rill_plan_open_opts(const char* path, const rill_open_opts* opts,
                                         rill_plan** plan);
/** Open a plan in memory within limits, as rill_plan_map and rill_plan_open_opts do. */
RILL_API rill_status rill_plan_map_opts(const void* bytes, size_t size, const rill_open_opts* opts,
                                        rill_plan** plan);
/** Add an owner and return the plan; null for an invalid handle. Thread: any. */
RILL_API rill_plan* rill_plan_retain(rill_plan* plan);
/** Remove an owner; the last one frees the plan. Sessions are owners; null is fine. Thread: any. */
RILL_API void rill_plan_release(rill_plan* plan);

/** Return the number of inputs or outputs; 0 for an invalid handle. */
RILL_API size_t rill_plan_count(const rill_plan* plan, rill_dir dir);
/** Describe an input or output. Errors: RILL_E_ARG. */
RILL_API rill_status rill_plan_io(const rill_plan* plan, rill_dir dir, size_t index,
                                  rill_io_info* info);
/** Find an input or output by name. Errors: RILL_E_ARG, with the existing names. */
RILL_API rill_status rill_plan_find(const rill_plan* plan, rill_dir dir, const char* name,
                                    size_t* index);

/** Return the number of properties of the model's file; 0 for an invalid handle. Prepared and
 *  compiled plans keep them. Properties of streams are left out: see rill_plan_stream. */
RILL_API size_t rill_plan_properties(const rill_plan* plan);
/** Return the property at `index`; its texts are valid while the plan exists. A compiled model may
 *  come from anywhere: escape its texts before they are printed. Errors: RILL_E_ARG. */
RILL_API rill_status rill_plan_property(const rill_plan* plan, size_t index,
                                        rill_property* property);
/** Find a property by key. Errors: RILL_E_ARG if there is none. */
RILL_API rill_status rill_plan_property_find(const rill_plan* plan, const char* key,
                                             rill_property* property);

/** How an output streams. */
typedef struct rill_stream_info {
  uint32_t size; /**< sizeof(rill_stream_info) */
  int32_t axis;               /**< streaming axis of the output; -1: it does not stream */
  int64_t pulse;              /**< frames of the output per step */
  int64_t delay;              /**< frames that the output lags behind: drop them at the start */
  int32_t input;              /**< first input of n*S frames, else first that streams; -1: none */
  int32_t input_axis;         /**< its streaming axis */
  int64_t input_pulse;        /**< its frames per step */
  int64_t delay_input_frames; /**< the delay in frames of that input, rounded up */
  int64_t rate_num;           /**< frames of the output per frame of the input, as a fraction */
  int64_t rate_den;           /**< denominator of that fraction */
  int64_t warm_up_steps; /**< steps at the start without any frame */
  int64_t flush_steps;   /**< maximum steps after the last input; -1: unknown */
  const char* symbol;    /**< the stream symbol, "" if the plan does not stream */
  const char* length;    /**< frames of the whole output, in that symbol; "" if unknown */
} rill_stream_info;

/** Describe how an output streams. Errors: RILL_E_ARG. */
RILL_API rill_status rill_plan_stream(const rill_plan* plan, size_t output, rill_stream_info* info);

/** The memory of a plan and of each of its sessions. */
typedef struct rill_memory_info {
  uint32_t size; /**< sizeof(rill_memory_info) */
  int64_t weight_bytes; /**< of the plan, shared by its sessions */
  int64_t state_bytes;  /**< of each session: kept from step to step */
  int64_t arena_bytes;  /**< of each session: used during a step only */
  int64_t io_bytes;     /**< of each session: buffers of inputs and outputs */
} rill_memory_info;

/** Return the memory that the plan and each of its sessions take. Errors: RILL_E_ARG. */
RILL_API rill_status rill_plan_memory(const rill_plan* plan, rill_memory_info* info);

/** Return the name of a node and of its operator, where `index` counts the nodes in the order in
 *  which a step runs them. Fused nodes count as one. Both become null past the last one. */
RILL_API rill_status rill_plan_node(const rill_plan* plan, size_t index, const char** name,
                                    const char** op);
/** @} */
/** @name Session */ /** @{ */

/** Elements in memory with type, shape and strides. */
struct rill_view {
  uint32_t size;          /**< sizeof(rill_view) */
  rill_dtype dtype;       /**< type of the elements */
  uint32_t rank;          /**< number of axes, at most RILL_MAX_RANK */
  const int64_t* shape;   /**< extents of the axes */
  const int64_t* strides; /**< in elements; null: row-major */
  void* data;             /**< the first element */
};

/** Options of a session. */
typedef struct rill_session_opts {
  uint32_t size; /**< sizeof(rill_session_opts) */
  int64_t max_push; /**< frames that one push must accept if outputs are pulled; 0: one pulse */
} rill_session_opts;

/** Allocate everything that one run or stream needs. For a stream, run one step over zeros, which
 *  warms the caches, and reset. docs/sessions.md lists the calls that each state allows. */
RILL_API rill_status rill_session_new(rill_plan* plan, rill_session** session);
/** Make a session with options, as rill_session_new does; null for none. */
RILL_API rill_status rill_session_open(rill_plan* plan, const rill_session_opts* opts,
                                       rill_session** session);
/** Return the bytes that rill_session_place needs. */
RILL_API rill_status rill_session_need(const rill_plan* plan, const rill_session_opts* opts,
                                       size_t* bytes);
/** Make a session in the caller's memory: aligned to 64 bytes, with at least the size that
 *  rill_session_need gives, valid until rill_session_free, which does not free it. No call on the
 *  session allocates, except rill_session_clone, rill_state_load and the texts of their failures.
 *  Errors: RILL_E_NOMEM with the needed bytes; RILL_E_ARG for memory that is not aligned.
 *  Threads and rill_step_timed are RILL_E_UNSUPPORTED in such a session. */
RILL_API rill_status rill_session_place(rill_plan* plan, const rill_session_opts* opts,
                                        void* memory, size_t size, rill_session** session);
/** Copy a session: state, waiting frames, and values of inputs and outputs, in buffers of the copy.
 *  Both then continue with the same bits. Threads are not copied. */
RILL_API rill_status rill_session_clone(const rill_session* session, rill_session** copy);
/** Free the session. Null is allowed. */
RILL_API void rill_session_free(rill_session* session);
/** Return to the state of a new session. Bound buffers stay bound, values stay. Real-time: yes. */
RILL_API rill_status rill_session_reset(rill_session* session) RILL_REAL_TIME;
/** Return the bytes that the session allocated; 0 for an invalid handle. */
RILL_API int64_t rill_session_bytes(const rill_session* session) RILL_REAL_TIME;

/** Use the caller's memory as input or output: of the plan's type and shape, row-major, aligned to
 *  its elements, apart from all other buffers, valid until null is bound or the session is freed.
 *  Null restores the session's own buffer. In a stream that is pushed, waiting frames and known
 *  values are copied to the new buffer. Real-time: yes. */
RILL_API rill_status rill_bind_input(rill_session* session, size_t index,
                                     const rill_view* view) RILL_REAL_TIME;
/** Use the caller's memory as output, as rill_bind_input does for an input. */
RILL_API rill_status rill_bind_output(rill_session* session, size_t index,
                                      const rill_view* view) RILL_REAL_TIME;
/** Return the buffer to write an input to: the bound or the session's own one. Real-time: yes. */
RILL_API rill_status rill_input_buffer(rill_session* session, size_t index,
                                       rill_view* view) RILL_REAL_TIME;
/** Return the buffer to read an output from, as rill_input_buffer does. Real-time: yes. */
RILL_API rill_status rill_output_buffer(rill_session* session, size_t index,
                                        rill_view* view) RILL_REAL_TIME;

/** Run once: the whole graph, or the next pulse. A whole graph starts from its initial state at
 *  each call, except caches and random numbers, which continue.
 *  Real-time: yes: no allocation, lock, file or system call. During the step, denormals are flushed
 *  and numbers rounded to the nearest; the thread's mode is restored. Threads change this: see
 *  rill_session_set_threads. Errors: RILL_E_STATE after the end; RILL_E_SHAPE for a wrong length;
 *  RILL_E_ARG for an index out of range. Nothing ran then, unless a whole graph computed it. */
RILL_API rill_status rill_step(rill_session* session) RILL_REAL_TIME;
/** Run a step as rill_step does, and add the time of each node: `nanoseconds[i]` is for the node at
 *  index i of rill_plan_node; there are `count` of them.
 *  Real-time: no: it reads a clock. Errors: as rill_step; RILL_E_ARG for another `count`. */
RILL_API rill_status rill_step_timed(rill_session* session, int64_t* nanoseconds, size_t count);
/** Run the last pulse of a stream. Its first `valid_frames` frames (of the input that
 *  rill_stream_info names) end the stream; the rest is ignored. Further frames of a longer input,
 *  as S + 3, follow with rill_flush.
 *  A full pulse is allowed. 0 means that the previous step was the last. A model with parts that
 *  end before its inputs, such as x[:-2], refuses 0: its last step has to know the end. For such a
 *  model (`late_end` of rill_inspect_report), keep a full pulse back until the next frame arrives,
 *  and end the stream with 1 or more of its frames; rill_push does so. 0 at the start makes an
 *  empty stream without outputs.
 *  Real-time: yes. Errors: RILL_E_ARG; RILL_E_STATE if the end was given before, if the plan is not
 *  pulsed, or for 0 after a step that had to know the end: the stream may continue with more
 *  frames; RILL_E_SHAPE if the model has no output for a stream of this length or asserts another
 *  length, or for an empty stream if its whole run outputs a value, or frames of padding. */
RILL_API rill_status rill_step_partial(rill_session* session, int64_t valid_frames) RILL_REAL_TIME;
/** Run one step of the tail, if output frames are left, and return the number that is left
 *  afterwards (of the output with most). `frames_left` may be null. Inputs are ignored, unless they
 *  have frames after those of the last pulse.
 *  Real-time: yes. Errors: RILL_E_STATE before rill_step_partial. */
RILL_API rill_status rill_flush(rill_session* session, int64_t* frames_left) RILL_REAL_TIME;
/** Return the valid frames of a streaming output after rill_step, rill_step_partial or rill_flush:
 *  `count` frames starting at `first`, along the output's axis. Real-time: yes. */
RILL_API rill_status rill_valid_frames(const rill_session* session, size_t output, int64_t* first,
                                       int64_t* count) RILL_REAL_TIME;
/** Return the number of frames that the input of rill_stream_info took and the output gave. Both
 *  pointers may be null. Real-time: yes. */
RILL_API rill_status rill_position(const rill_session* session, size_t output, int64_t* frames_in,
                                   int64_t* frames_out) RILL_REAL_TIME;
/** How a session takes part in a common step. */
typedef enum rill_step_kind RILL_ANY_INT {
  RILL_STEP_FULL = 0,    /**< as rill_step */
  RILL_STEP_PARTIAL = 1, /**< as rill_step_partial, with `valid_frames` */
  RILL_STEP_FLUSH = 2    /**< as rill_flush */
} rill_step_kind;

/** The part of one stream in a common step. */
typedef struct rill_session_step {
  uint32_t size; /**< sizeof(rill_session_step), the same in each step of an array */
  rill_step_kind kind;   /**< which call it stands for */
  rill_session* session; /**< the stream */
  int64_t valid_frames;  /**< of RILL_STEP_PARTIAL */
} rill_session_step;

/** Run the next pulse of several sessions of one plan. Each layer runs for all sessions before the
 *  next layer does, so that its weights are fetched once. Each session is an independent stream
 *  with its own start, end and reset; sessions that are not in `steps` do not move. The frames have
 *  the bits of separate steps.
 *  Real-time: yes. Errors: those of the single calls, with the index of the first wrong step;
 *  RILL_E_ARG for sessions of different plans, or a session that occurs twice; RILL_E_ABI for an
 *  unknown size, or one that differs from the first step's. Nothing has run then. */
RILL_API rill_status rill_step_together(const rill_session_step* steps,
                                        size_t count) RILL_REAL_TIME;

/* A stream runs in one of two modes from its start or rill_session_reset: pulse by pulse with
 * rill_step, as above, or with any number of frames at a time, as below. */

/** Push any number of frames of a streaming input, 0 included. `frames` has the input's type and
 *  shape, with any extent along its streaming axis, and any strides. `taken` is the number of
 *  frames taken, first ones first. It is smaller than the extent if outputs must be pulled first
 *  (see max_push), or if this input is ahead of another by a pulse plus its surplus frames.
 *  Real-time: yes. Errors: RILL_E_ARG, _SHAPE, _DTYPE; RILL_E_STATE after rill_step or _finish. */
RILL_API rill_status rill_push(rill_session* session, size_t input, const rill_view* frames,
                               int64_t* taken) RILL_REAL_TIME;
/** Pull the available frames of a streaming output, without its delay, up to the extent of
 *  `frames`. `given` is the number of frames written. 0 can mean that another output has to be
 *  pulled before; after rill_finish, 0 from all outputs means that the stream is over.
 *  Real-time: yes. Errors: as rill_push. */
RILL_API rill_status rill_pull(rill_session* session, size_t output, const rill_view* frames,
                               int64_t* given) RILL_REAL_TIME;
/** End the stream: all frames have been pushed. rill_pull then gives the tail. Outputs that do not
 *  stream are final when all others have been pulled.
 *  Real-time: yes. Errors: RILL_E_SHAPE if the frames of two inputs do not fit together, or if the
 *  model has no output for a stream of this length; RILL_E_STATE if it was called before, or if the
 *  session continues a saved stepped stream whose last step had to know the end (see
 *  rill_step_partial). More frames may follow after an error, unless an earlier call succeeded. */
RILL_API rill_status rill_finish(rill_session* session) RILL_REAL_TIME;

/** Return the bytes that rill_state_save writes at most, valid until a state is loaded. */
RILL_API rill_status rill_state_size(const rill_session* session, size_t* size) RILL_REAL_TIME;
/** Write the state of a stream to memory aligned to 8 bytes: state of the operators, frames that
 *  wait to be stepped or pulled, and values of outputs that do not stream. Inputs that do not
 *  stream are not part of it. `written` is the number of bytes.
 *  Real-time: yes. Errors: RILL_E_ARG for a small `size`; RILL_E_STATE without a stream. */
RILL_API rill_status rill_state_save(const rill_session* session, void* bytes, size_t size,
                                     size_t* written) RILL_REAL_TIME;
/** Continue a saved stream. The plan may differ in pulse, options or machine, but not in the model
 *  or in the values of its symbols.
 *  Errors: RILL_E_PARSE for bytes that are not a state, truncated, damaged, or of another version;
 *  RILL_E_STATE for the state of another model, and, with its name, if a node's delay differs. */
RILL_API rill_status rill_state_load(rill_session* session, const void* bytes, size_t size);

/** Run a plan that does not stream: copy inputs, step, copy outputs. Views may have any strides.
 *  Errors: RILL_E_ARG, _SHAPE, _DTYPE naming the view or index; RILL_E_STATE for a pulsed plan. */
RILL_API rill_status rill_run(rill_session* session, const rill_view* inputs, size_t input_count,
                              const rill_view* outputs, size_t output_count) RILL_REAL_TIME;
/** @} */
/** @name Threads */ /** @{ */

/* Several threads can share large plan steps, typical of whole runs: rows or columns of matmuls and
 * convolutions, entries of a batch, rows of normalisations. The outputs have the same bits for any
 * number of threads. Plan steps of a few microseconds, typical of pulses, stay on one thread. */

/** Start `count` - 1 threads; the thread that calls a step is the remaining one. Any number of
 *  sessions can share them. A step that finds them busy with another session runs on its own thread
 *  alone. After a step the threads spin for about 50 microseconds, then sleep. They inherit the
 *  scheduling of the calling thread and block signals.
 *  Errors: RILL_E_ARG unless `count` is 1 to 256; RILL_E_NOMEM if the system refuses a thread. */
RILL_API rill_status rill_threads_new(uint32_t count, rill_threads** threads);

/** A part of a step that rill passes to a pool. */
typedef void (*rill_task)(void* argument, uint32_t part);

/** The app's own threads. */
typedef struct rill_pool {
  uint32_t size; /**< sizeof(rill_pool) */
  uint32_t threads; /**< number of parts that run at the same time, 1 to 256 */
  void* context;    /**< the first argument of `run` */
  /** Call `task(argument, part)` once for each part < parts, in any order, on any threads, and
   *  return when all calls have returned; `parts` is at most `threads`. Any thread that steps a
   *  session calls it. Since it is part of a step, it must not throw or do other work. */
  void (*run)(void* context, rill_task task, void* argument, uint32_t parts);
} rill_pool;

/** Use a pool of the app. `context` must stay valid until no session uses these threads; the
 *  rill_pool itself may be freed after the call. Errors: RILL_E_ARG, RILL_E_ABI. */
RILL_API rill_status rill_threads_wrap(const rill_pool* pool, rill_threads** threads);
/** Release the handle; the last session with these threads ends them. Null is allowed. */
RILL_API void rill_threads_free(rill_threads* threads);
/** Let threads share the steps of a session. Null, the default also of clones, means the calling
 *  thread alone. Allocates scratch memory for every thread, which rill_session_bytes counts.
 *  Real-time: no; steps wake threads by system calls. Errors: RILL_E_ARG, RILL_E_NOMEM. */
RILL_API rill_status rill_session_set_threads(rill_session* session, const rill_threads* threads);
/** @} */
#ifdef __cplusplus
} /* extern "C" */
#endif
#undef RILL_ANY_INT
#endif /* RILL_RILL_H_ */
