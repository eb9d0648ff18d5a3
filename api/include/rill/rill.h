/* rill: run neural networks exported as NNEF, whole or a few frames at a time.
 *
 *   rill_model    what a file says: symbols may be bound, a stream symbol may be pulsed
 *   rill_plan     a model made ready to run: immutable, counted, shared between threads
 *   rill_session  one run or one stream of a plan, with all the memory that it needs
 *   rill_threads  threads that sessions may be given for the work of a step
 *
 * Every function checks its pointers, handles, indices and counts. What can fail returns a
 * rill_status; rill_last_error tells more. A failed call changes nothing. No exception crosses.
 * Text and arrays that are handed out belong to the object that was asked; those of a model stay
 * until the model is changed or freed.
 * A model and a session belong to one thread at a time; plans and rill_threads are shared by any.
 * A step runs on the thread that calls it, and on no other unless its session was given some.
 * Structs begin with their size, so that they can grow: `rill_view view = {.size = sizeof view};`
 */
#ifndef RILL_RILL_H_
#define RILL_RILL_H_

#include <stddef.h>
#include <stdint.h>

/* A program or plugin that links rill statically defines RILL_STATIC, as the CMake target and the
 * package do: it then exports no function of rill. */
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

/* Marks what a real-time thread may call. Clang 20 and later warn where a function with this mark
 * calls one without it; other compilers ignore it. */
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

/** Version of this interface. It changes only when programs must be compiled anew. */
#define RILL_ABI 2u
/** No tensor has more axes. */
#define RILL_MAX_RANK 8

typedef struct rill_model rill_model;
typedef struct rill_plan rill_plan;
typedef struct rill_session rill_session;
typedef struct rill_threads rill_threads;

/* In C++ too, an enumeration may hold any number that a caller puts there. */
#ifdef __cplusplus
#define RILL_ANY_INT : int
#else
#define RILL_ANY_INT
#endif

typedef enum rill_status RILL_ANY_INT {
  RILL_OK = 0,
  RILL_E_ARG = 1,         /**< a pointer, index, count or text that makes no sense */
  RILL_E_IO = 2,          /**< a file cannot be read or written */
  RILL_E_PARSE = 3,       /**< a file or an expression is not what it should be */
  RILL_E_UNSUPPORTED = 4, /**< an operator or a form of it that this build does not run */
  RILL_E_SHAPE = 5,
  RILL_E_DTYPE = 6,
  RILL_E_SYMBOL = 7, /**< a symbol that is unknown, unbound or bound against an assertion */
  RILL_E_PULSE = 8,  /**< the model cannot stream this way */
  RILL_E_STATE = 9,  /**< the call comes at the wrong time */
  RILL_E_NOMEM = 10,
  RILL_E_ABI = 11, /**< a struct size that this library does not know */
  RILL_E_INTERNAL = 12
} rill_status;

typedef enum rill_dtype RILL_ANY_INT {
  RILL_BOOL = 0,
  RILL_U8 = 1,
  RILL_U16 = 2,
  RILL_U32 = 3,
  RILL_U64 = 4,
  RILL_I8 = 5,
  RILL_I16 = 6,
  RILL_I32 = 7,
  RILL_I64 = 8,
  RILL_F16 = 9,
  RILL_BF16 = 10,
  RILL_F32 = 11,
  RILL_F64 = 12,
  RILL_STRING = 13,
  RILL_DIM = 14, /**< a symbolic number; int64_t once the symbols are bound */
  RILL_QU8 = 15, /**< real = (q - zero_point) * scale */
  RILL_QI8 = 16,
  RILL_QI32 = 17,
  RILL_BLOB = 18
} rill_dtype;

typedef enum rill_dir RILL_ANY_INT { RILL_INPUT = 0, RILL_OUTPUT = 1 } rill_dir;

/* ---- library -------------------------------------------------------------------------------- */

/** Tell the RILL_ABI that the library was built with. */
RILL_API uint32_t rill_abi(void);
/** Tell the version: "0.1.0". */
RILL_API const char* rill_version(void);
/** Tell compiler, build type and operators in one line. */
RILL_API const char* rill_build_info(void);
/** Name a status: "ok", "argument", "input/output", ... */
RILL_API const char* rill_status_name(rill_status status);
/** Tell the bytes of one element; 0 if there is no such type. */
RILL_API size_t rill_dtype_size(rill_dtype dtype) RILL_REAL_TIME;
/** Name a type: "f32"; "unknown" if there is no such type. */
RILL_API const char* rill_dtype_name(rill_dtype dtype) RILL_REAL_TIME;

/** Tell the last failure of this thread in one line; "" if there was none.
 *  Control characters, bidirectional overrides and bytes that are no UTF-8, which names from a file
 *  may hold, are escaped, as in C. The same in rill_last_error_info.
 *  Valid until the next failure of the thread. Real-time: yes. */
RILL_API const char* rill_last_error(void);

typedef struct rill_error_info {
  uint32_t size;
  rill_status code;
  const char* message; /**< what was found, what was expected */
  const char* node;    /**< node of the graph, or "" */
  const char* op;      /**< operator of that node, or "" */
  const char* file;    /**< or "" */
  int32_t line;        /**< 1-based, 0 if unknown */
  int32_t column;      /**< 1-based, 0 if unknown */
  const char* hint;    /**< what to do next, or "" */
} rill_error_info;

/** Tell the parts of the last failure of this thread. Texts are valid as for rill_last_error. */
RILL_API rill_status rill_last_error_info(rill_error_info* info);

typedef enum rill_log_level RILL_ANY_INT { RILL_LOG_WARN = 1, RILL_LOG_INFO = 2 } rill_log_level;
typedef void (*rill_log_fn)(void* user, rill_log_level level, const char* message);
/** Have messages up to a level handed over; null stops it. The library itself prints nothing.
 *  Thread: call it before other threads use rill; `log` is called on the thread that loads. */
RILL_API void rill_set_log(rill_log_fn log, void* user, rill_log_level level);

/** Cap the SIMD tier of plans prepared from now on: "scalar", "sse42", "avx2", "avx512", "neon";
 *  null lifts the cap. A cap above what the CPU has is no error. Constants are computed when a
 *  model is loaded, pulsed and prepared, by the tier of that moment: set the cap before loading
 *  where streams and whole runs are to have the same bits. Thread: any. */
RILL_API rill_status rill_set_cpu_limit(const char* tier);
/** Tell the tier that plans prepared now would use. */
RILL_API const char* rill_cpu(void);

/* ---- model ---------------------------------------------------------------------------------- */

/** What a file may ask for. 0 stands for the default, which real models stay far below. */
typedef struct rill_load_opts {
  uint32_t size;
  int64_t max_expanded_bytes; /**< of the file, and of all that it unfolds to; 0: 4 GiB */
  int64_t max_ratio;          /**< unfolded bytes per byte of the file; 0: 2000 */
  int64_t max_entries;        /**< files in the archive; 0: 100 000 */
  int64_t max_text_bytes;     /**< of the graph's text; 0: 16 MiB, which is the most */
  int64_t max_nodes;          /**< of the graph; 0: 131 072 */
  int64_t max_symbols;        /**< of the graph; 0: 64 */
  int64_t max_folded_bytes;   /**< constants, read or computed; 0: 4 GiB */
  const char* constants;      /**< of ONNX: values of inputs, "sr=16000;h=0,0"; null: none */
} rill_load_opts;

/** Load a folder, tar, tgz or zip, told apart by content, or a bare graph.nnef, or an ONNX file.
 *  `opts` may be null. Inputs with `constants` are none from then on, and decide branches.
 *  What a path leads to is a regular file or a folder: pipes, sockets and devices are refused at
 *  once, and folders without a graph.nnef are not walked.
 *  Errors: RILL_E_IO, _PARSE, _UNSUPPORTED, _SHAPE, _DTYPE, with file, line and node. */
RILL_API rill_status rill_load(const char* path, const rill_load_opts* opts, rill_model** model);
/** As rill_load, from bytes, which may be freed afterwards. */
RILL_API rill_status rill_load_memory(const void* bytes, size_t size, const rill_load_opts* opts,
                                      rill_model** model);
/** Write by suffix: .tgz or .tar.gz, .tar, .zip, else a folder. Atomic.
 *  Errors: RILL_E_IO; RILL_E_ARG for an old folder; RILL_E_INTERNAL if it reads back changed. */
RILL_API rill_status rill_save(const rill_model* model, const char* path);
/** Copy the structure; weights are shared. */
RILL_API rill_status rill_model_clone(const rill_model* model, rill_model** copy);
/** Null is fine. */
RILL_API void rill_model_free(rill_model* model);

typedef struct rill_io_info {
  uint32_t size;
  rill_dtype dtype;
  uint32_t rank;
  int32_t zero_point; /**< of quantised types */
  float scale;        /**< of quantised types */
  const char* name;
  const char* text;        /**< "1,S,40,F32" */
  const char* const* dims; /**< one text per axis: "1", "S", "2*S+1" */
  const int64_t* shape;    /**< null while an axis is symbolic */
  int64_t bytes;           /**< -1 while an axis is symbolic */
  int32_t stream_axis;     /**< of a plan: the axis that streams; -1: none */
} rill_io_info;

/** Tell how many inputs or outputs there are; 0 if the handle is not valid. */
RILL_API size_t rill_model_count(const rill_model* model, rill_dir dir);
RILL_API rill_status rill_model_io(const rill_model* model, rill_dir dir, size_t index,
                                   rill_io_info* info);
/** Find an input or output by name. Errors: RILL_E_ARG, with the names there are. */
RILL_API rill_status rill_model_find(const rill_model* model, rill_dir dir, const char* name,
                                     size_t* index);
/** Name the symbol at `index` of those still free. `name` is set to null past the last. */
RILL_API rill_status rill_model_symbol(const rill_model* model, size_t index, const char** name);
/** Replace a symbol by a number or an expression in other symbols: ("B", "1"), ("T", "2*S").
 *  Errors: RILL_E_SYMBOL for an unknown symbol, with those known, and for a value that an assertion
 *  of the model rules out; RILL_E_STATE for the stream symbol of a pulsed model. */
RILL_API rill_status rill_model_set_symbol(rill_model* model, const char* symbol,
                                           const char* expression);
typedef struct rill_view rill_view;
/** Bind every free symbol that the extents of inputs tell: one view per input, in order, of which
 *  rank and shape are looked at alone. A view without a shape tells nothing. Symbols that no extent
 *  tells stay free.
 *  Errors: RILL_E_SHAPE for an input that has another rank, or extents that no values of the
 *  symbols give; RILL_E_SYMBOL for values that an assertion rules out; RILL_E_STATE if pulsed. */
RILL_API rill_status rill_model_set_shapes(rill_model* model, const rill_view* inputs,
                                           size_t count);
/** Rewrite to run a few frames at a time: the symbol (null: "S") becomes the pulse, and delays and
 *  states keep what the next pulse needs. The outputs of all pulses, put end to end without their
 *  first `delay` frames, are those of the whole run.
 *  `pulse`: frames of the symbol ("8"), or "auto" for the smallest pulse whose frames cost little
 *  more than the cheapest; "auto:min=8,max=64,max_delay=20,max_latency=40", each bound optional, in
 *  frames of the symbol: max_delay bounds the delay of the outputs, max_latency what the first
 *  frame of a pulse waits for its answer. `rill_plan_stream` tells the pulse that was taken.
 *  Errors: RILL_E_PULSE, with every node that cannot stream, why, and a way out. */
RILL_API rill_status rill_model_pulse(rill_model* model, const char* symbol, const char* pulse);

/** Tie an output to an input: what a step gives there, the next one takes. The session owns it from
 *  then on, as all its state, zeros at first. A model that is not pulsed becomes a stream by this,
 *  whose steps are runs of it. Errors: RILL_E_ARG, _SHAPE, _DTYPE; RILL_E_PULSE if it is pulsed. */
RILL_API rill_status rill_model_feedback(rill_model* model, const char* output, const char* input);
/** Put the last `frames` frames that an input had in one step in front of those of the next, zeros
 *  at first: the caller gives so many frames fewer per step. Errors: as above. */
RILL_API rill_status rill_model_context(rill_model* model, const char* input, int64_t frames);

typedef struct rill_audit_opts {
  uint32_t size;
  double seconds; /**< of wall clock; 0: 2. What has not ended by then is given up */
  uint64_t seed;  /**< of the noise, and of the lengths that are drawn */
} rill_audit_opts;

/** What an audit compared. Lengths are counted in the stream symbol. */
typedef struct rill_audit_report {
  uint32_t size;
  int64_t lengths;        /**< at which streams were compared */
  int64_t shortest, longest; /**< of these lengths */
  int64_t undefined;      /**< lengths at which the whole model refuses to run */
  int64_t refused;        /**< lengths that the whole model takes and the stream refuses */
  int64_t edges, edges_compared; /**< lengths where something begins or ceases to hold */
  int64_t period;         /**< past all edges, the lengths of wires repeat with it */
  int64_t remainders;     /**< of the period that were compared */
  int64_t streams;        /**< stepped, pushed, reset, saved, cloned, moved and side by side */
  /** Compared: outputs that had other finite numbers than for another input, and their frames. */
  int64_t outputs, frames;
} rill_audit_report;

/** Compare a pulsed model to a clone of it from before `rill_model_pulse`, on noise of magnitudes
 *  from 1e-3 to 1e4: streams of many lengths, driven in every way that this interface has, with NaN
 *  past their ends. Symbols that are free in both are taken as 2. `opts` and `report` may be null.
 *  Errors: RILL_E_STATE where a frame differs, with length, way, output and place; where nothing
 *  could be compared; and where an output is not proven, since it never varied or was no finite
 *  number. RILL_E_PULSE where `pulsed` is not pulsed or has other inputs. */
RILL_API rill_status rill_model_audit(const rill_model* whole, const rill_model* pulsed,
                                      const rill_audit_opts* opts, rill_audit_report* report);

/** Tell the operators of the graph by name, in their order, and how many nodes have each, those of
 *  loop bodies too. `name` is set to null past the last. `nodes` may be null. */
RILL_API rill_status rill_model_operator(const rill_model* model, size_t index, const char** name,
                                         int64_t* nodes);

typedef struct rill_property {
  uint32_t size;
  rill_dtype dtype;
  const char* key;
  const char* text;           /**< the value as text */
  size_t count;               /**< elements */
  const int64_t* ints;        /**< null unless bool or integers */
  const double* floats;       /**< null unless floats */
  const char* const* strings; /**< null unless strings */
} rill_property;

/** Tell how many properties the file carries; 0 if the handle is not valid. */
RILL_API size_t rill_model_properties(const rill_model* model);
RILL_API rill_status rill_model_property(const rill_model* model, size_t index,
                                         rill_property* property);
/** As above, by key. Errors: RILL_E_ARG if there is none. */
RILL_API rill_status rill_model_property_find(const rill_model* model, const char* key,
                                              rill_property* property);

/* ---- plan ----------------------------------------------------------------------------------- */

typedef struct rill_plan_opts {
  uint32_t size;
  int32_t plain;             /**< not 0: keep to the plain form of every operator, to compare */
  int64_t max_session_bytes; /**< refuse a plan whose sessions need more; 0: no limit */
} rill_plan_opts;

/** Make a plan: choose kernels, pack weights, lay out memory. `opts` may be null. The model may be
 *  freed afterwards.
 *  Errors: RILL_E_SYMBOL with the unbound symbols; RILL_E_UNSUPPORTED, _SHAPE, _NOMEM. */
RILL_API rill_status rill_prepare(const rill_model* model, const rill_plan_opts* opts,
                                  rill_plan** plan);
/** Open a plan that `rill compile` wrote: the file is mapped, and its weights are read where they
 *  lie, so that processes share them. Of a file for several CPUs, the best plan that this one can
 *  run. The file need not be trusted: what is wrong with it is an error. It must not be changed or
 *  cut while the plan is there, which would end the process: a new one takes its place by being
 *  renamed over it. `read_file` of rill_plan_open_opts reads a file that others may write to.
 *  Errors: RILL_E_IO, also for what is no file; RILL_E_PARSE for what is no whole plan file;
 *  RILL_E_ABI for one of another version; RILL_E_UNSUPPORTED for one that this CPU or build cannot
 *  run; RILL_E_NOMEM. */
RILL_API rill_status rill_plan_open(const char* path, rill_plan** plan);
/** As above, from memory that is aligned to 64 bytes, and stays as it is until the plan is freed,
 *  with all its sessions. Errors: RILL_E_ARG for other memory; else as above. */
RILL_API rill_status rill_plan_map(const void* bytes, size_t size, rill_plan** plan);

/** What a compiled model may cost, all of it known before a session is made. 0 stands for the
 *  default, which real models stay far below. */
typedef struct rill_open_opts {
  uint32_t size;
  int32_t read_file;         /**< not 0: read the file into memory, so that it may be cut or
                                  overwritten from then on */
  int64_t max_file_bytes;    /**< 0: 16 GiB */
  int64_t max_session_bytes; /**< of a session that is pushed a pulse at a time; 0: 4 GiB */
  int64_t max_step_work;     /**< of a step: elements that it touches, and operations, of which 8
                                  multiply-adds of a product count one; 0: 2^32 of a stream,
                                  2^36 of a whole run */
  int64_t max_outputs;       /**< and inputs; 0: 65 536 */
  int64_t max_buffers;       /**< 0: 1 048 576 */
} rill_open_opts;

/** As rill_plan_open and rill_plan_map, within limits; null for the defaults, which these have too.
 *  Errors: RILL_E_NOMEM for a plan that costs more; else as above. */
RILL_API rill_status rill_plan_open_opts(const char* path, const rill_open_opts* opts,
                                         rill_plan** plan);
RILL_API rill_status rill_plan_map_opts(const void* bytes, size_t size, const rill_open_opts* opts,
                                        rill_plan** plan);
/** Count one more owner, and hand the plan back; null if it is not valid. Thread: any. */
RILL_API rill_plan* rill_plan_retain(rill_plan* plan);
/** Count one owner less; the last one frees. Sessions are owners. Null is fine. Thread: any. */
RILL_API void rill_plan_release(rill_plan* plan);

RILL_API size_t rill_plan_count(const rill_plan* plan, rill_dir dir);
RILL_API rill_status rill_plan_io(const rill_plan* plan, rill_dir dir, size_t index,
                                  rill_io_info* info);
RILL_API rill_status rill_plan_find(const rill_plan* plan, rill_dir dir, const char* name,
                                    size_t* index);

typedef struct rill_stream_info {
  uint32_t size;
  int32_t axis;               /**< axis of the output that streams; -1: it does not */
  int64_t pulse;              /**< frames of the output per step */
  int64_t delay;              /**< frames of the output to drop: it lags by that many */
  int32_t input;              /**< the first input of a frame, or n, for each S; -1: none */
  int32_t input_axis;         /**< its axis that streams */
  int64_t input_pulse;        /**< its frames per step */
  int64_t delay_input_frames; /**< the delay in frames of that input, rounded up */
  int64_t rate_num;           /**< frames of the output per frame of the input, as a fraction */
  int64_t rate_den;
  int64_t warm_up_steps; /**< steps at the start that give no frame at all */
  int64_t flush_steps;   /**< the most steps needed after the last input; -1: unknown */
  const char* symbol;    /**< the stream symbol, "" if the plan does not stream */
  const char* length;    /**< frames of the whole output, in that symbol; "" if unknown */
} rill_stream_info;

/** Tell how an output streams. */
RILL_API rill_status rill_plan_stream(const rill_plan* plan, size_t output, rill_stream_info* info);

typedef struct rill_memory_info {
  uint32_t size;
  int64_t weight_bytes; /**< in the plan, shared by its sessions */
  int64_t state_bytes;  /**< in each session: what is kept from step to step */
  int64_t arena_bytes;  /**< in each session: needed during a step only */
  int64_t io_bytes;     /**< in each session: buffers of inputs and outputs */
} rill_memory_info;

RILL_API rill_status rill_plan_memory(const rill_plan* plan, rill_memory_info* info);

/** Name a node that a step runs, and its operator. Fused nodes count as one. `name` and `op` are
 *  set to null past the last. */
RILL_API rill_status rill_plan_node(const rill_plan* plan, size_t index, const char** name,
                                    const char** op);

/* ---- session -------------------------------------------------------------------------------- */

/** A window on elements: what rill_input_buffer gives, and what is bound. */
struct rill_view {
  uint32_t size;
  rill_dtype dtype;
  uint32_t rank;
  const int64_t* shape;
  const int64_t* strides; /**< in elements; null: row-major */
  void* data;
};

typedef struct rill_session_opts {
  uint32_t size;
  int64_t max_push; /**< frames that rill_push takes at least while nothing is pulled; 0: a pulse
                         at a time */
} rill_session_opts;

/** Allocate all that one run or stream needs. A stream has been stepped once over zeros, and begun
 *  anew, so that the first step finds code and memory in place: that is what a session takes to
 *  make. Which call may be made when: docs/sessions.md. */
RILL_API rill_status rill_session_new(rill_plan* plan, rill_session** session);
/** As rill_session_new, with options; null for none. */
RILL_API rill_status rill_session_open(rill_plan* plan, const rill_session_opts* opts,
                                       rill_session** session);
/** Tell how many bytes rill_session_place takes. */
RILL_API rill_status rill_session_need(const rill_plan* plan, const rill_session_opts* opts,
                                       size_t* bytes);
/** As rill_session_open, in memory that begins at a multiple of 64, has the `size` bytes that
 *  rill_session_need tells or more, and stays until rill_session_free, which leaves it to the
 *  caller. Neither making the session nor any call on it asks the heap for memory, but for
 *  rill_session_clone, rill_state_load and the text of failures of these.
 *  Errors: RILL_E_NOMEM with the bytes that are needed; RILL_E_ARG for memory that is not aligned.
 *  Such a session has no threads, and is not timed: RILL_E_UNSUPPORTED. */
RILL_API rill_status rill_session_place(rill_plan* plan, const rill_session_opts* opts,
                                        void* memory, size_t size, rill_session** session);
/** Make a session that goes on as this one would, bit for bit: with the same state, the same frames
 *  that wait, and the same values in its inputs and outputs, whose buffers are its own. Threads are
 *  not copied. */
RILL_API rill_status rill_session_clone(const rill_session* session, rill_session** copy);
/** Null is fine. */
RILL_API void rill_session_free(rill_session* session);
/** Begin anew, as a new session would; bound buffers stay bound, and the values of inputs and
 *  outputs stay as they are. Real-time: yes. */
RILL_API rill_status rill_session_reset(rill_session* session) RILL_REAL_TIME;
/** Tell the bytes that the session allocated; 0 if the handle is not valid. */
RILL_API int64_t rill_session_bytes(const rill_session* session) RILL_REAL_TIME;

/** Use the caller's memory as input or output: of the plan's type and shape, row-major, aligned to
 *  its elements, apart from all other buffers, alive until null is bound or the session is freed.
 *  Null goes back to the session's own buffer. In a stream that is pushed, frames that wait in the
 *  buffer and values that are known go along into the new one. Real-time: yes. */
RILL_API rill_status rill_bind_input(rill_session* session, size_t index,
                                     const rill_view* view) RILL_REAL_TIME;
RILL_API rill_status rill_bind_output(rill_session* session, size_t index,
                                      const rill_view* view) RILL_REAL_TIME;
/** Tell where to write input and read output: what is bound, or the session's own buffer.
 *  Real-time: yes. */
RILL_API rill_status rill_input_buffer(rill_session* session, size_t index,
                                       rill_view* view) RILL_REAL_TIME;
RILL_API rill_status rill_output_buffer(rill_session* session, size_t index,
                                        rill_view* view) RILL_REAL_TIME;

/** Run once: the whole graph, or the next pulse. A whole graph begins anew each time, apart from
 *  caches and random numbers, which go on.
 *  Real-time: yes: no allocation, lock, file or system call. Denormals are flushed meanwhile, and
 *  numbers rounded to the nearest, whatever mode the thread is in, which it gets back. With
 *  threads, as for all that follows that runs steps: see rill_session_set_threads.
 *  Errors: RILL_E_STATE once the end of the stream is announced; RILL_E_SHAPE where the model is
 *  not defined for a stream of that length. Nothing has run then. */
RILL_API rill_status rill_step(rill_session* session) RILL_REAL_TIME;
/** As rill_step, and add the nanoseconds that each node took: `nanoseconds[i]` is of the node that
 *  rill_plan_node names at `i`, and there are `count` of them.
 *  Real-time: no: the clock is read around every node. Errors: as rill_step; RILL_E_ARG unless
 *  there is a place for each node. */
RILL_API rill_status rill_step_timed(rill_session* session, int64_t* nanoseconds, size_t count);
/** Run the last pulse of a stream. Its first `valid_frames` frames (of the input that
 *  rill_stream_info names) are the last ones; the rest is filler that does not matter. Of an input
 *  that has more frames, as S + 3, these follow with rill_flush.
 *  A full pulse is fine. 0 says that the step before was the last. A model with parts that end
 *  before its inputs, such as x[:-2], refuses that: its last step has to know the end. For such a
 *  model (see `late_end` of rill_inspect_report), keep a full pulse back until the next frame
 *  arrives, and end the stream with 1 to all of its frames; rill_push does so. 0 at the beginning
 *  makes a stream of no frames, out of which nothing comes.
 *  Real-time: yes. Errors: RILL_E_ARG; RILL_E_STATE if announced already, if the plan is whole, or
 *  for 0 after a step that had to know the end: then the stream may go on with more frames;
 *  RILL_E_SHAPE if the model has no output for a stream of this length, or asserts another one; of
 *  no frames, if a whole run of none would have a value or frames of borders. */
RILL_API rill_status rill_step_partial(rill_session* session, int64_t valid_frames) RILL_REAL_TIME;
/** Run one step of the tail, if there are frames left to come out; then tell how many are left
 *  (of the output that has the most). `frames_left` may be null. Inputs do not matter, unless
 *  they have frames behind those of the last pulse.
 *  Real-time: yes. Errors: RILL_E_STATE before rill_step_partial. */
RILL_API rill_status rill_flush(rill_session* session, int64_t* frames_left) RILL_REAL_TIME;
/** Tell which frames of an output that streams the last call of rill_step, rill_step_partial or
 *  rill_flush gave: `count` from `first` on, along the output's axis. Real-time: yes. */
RILL_API rill_status rill_valid_frames(const rill_session* session, size_t output, int64_t* first,
                                       int64_t* count) RILL_REAL_TIME;
/** Tell how many frames of the input that rill_stream_info names went in, and how many valid frames
 *  of the output came out. Both pointers may be null. Real-time: yes. */
RILL_API rill_status rill_position(const rill_session* session, size_t output, int64_t* frames_in,
                                   int64_t* frames_out) RILL_REAL_TIME;
typedef enum rill_turn_kind RILL_ANY_INT {
  RILL_TURN_STEP = 0,    /**< as rill_step */
  RILL_TURN_PARTIAL = 1, /**< as rill_step_partial, with `valid_frames` */
  RILL_TURN_FLUSH = 2    /**< as rill_flush */
} rill_turn_kind;

/** What one of several streams does in a common step. */
typedef struct rill_turn {
  uint32_t size; /**< sizeof(rill_turn), the same in each turn of an array */
  rill_turn_kind kind;
  rill_session* session;
  int64_t valid_frames; /**< of RILL_TURN_PARTIAL */
} rill_turn;

/** Run the next pulse of several sessions of one plan, each as its turn says: every layer runs for
 *  all of them before the next one does, so that weights are fetched once. Each session is a stream
 *  of its own, with its own start, end and reset; those that are left out stand still. The frames
 *  are those of a step alone, bit for bit.
 *  Real-time: yes. Errors: those of the turns, with the index of the first one that is wrong;
 *  RILL_E_ARG for sessions of different plans, or one that is there twice; RILL_E_ABI for a size
 *  that this library does not know, or that differs from the first one's. Nothing has run then. */
RILL_API rill_status rill_step_together(const rill_turn* turns, size_t count) RILL_REAL_TIME;

/* A stream is run in one of two ways, from its beginning or rill_session_reset on: pulse by pulse
 * with rill_step, as above, or with any number of frames at a time, as follows. */

/** Take frames of an input that streams: any number, 0 too. `frames` has the input's type and
 *  shape, but any extent along its streaming axis, and any strides. `taken` tells how many were
 *  taken, from the first on: fewer than given where outputs have to be pulled before (see
 *  max_push), or another input is behind by a pulse and what this one has more frames.
 *  Real-time: yes. Errors: RILL_E_ARG, _SHAPE, _DTYPE; RILL_E_STATE after rill_finish, or in a
 *  stream that rill_step runs. */
RILL_API rill_status rill_push(rill_session* session, size_t input, const rill_view* frames,
                               int64_t* taken) RILL_REAL_TIME;
/** Hand out frames of an output that streams, without its delay: as many as there are, at most as
 *  `frames` has room for. `given` tells how many were written, from the first on. 0 may mean that
 *  another output has to be pulled before; from all of them, after rill_finish, that there are no
 *  more.
 *  Real-time: yes. Errors: as rill_push. */
RILL_API rill_status rill_pull(rill_session* session, size_t output, const rill_view* frames,
                               int64_t* given) RILL_REAL_TIME;
/** Say that all frames have been pushed; rill_pull then brings out the tail. Outputs that do not
 *  stream are final once all others are pulled.
 *  Real-time: yes. Errors: RILL_E_SHAPE if an input has other frames than go with the end of the
 *  one that rill_stream_info names, or the model has no output for a stream of this length: more
 *  frames may be pushed; RILL_E_STATE if said already, or if the state of a stepped stream was
 *  loaded whose last step had to know the end, as rill_step_partial says: more frames may be
 *  pushed. */
RILL_API rill_status rill_finish(rill_session* session) RILL_REAL_TIME;

/** Tell how many bytes rill_state_save takes at most, until a state is loaded. */
RILL_API rill_status rill_state_size(const rill_session* session, size_t* size) RILL_REAL_TIME;
/** Write the state of a stream to memory aligned to 8 bytes, with the frames that wait to be
 *  stepped or pulled and the values of outputs that do not stream. Inputs that do not stream are
 *  no part of it. `written` tells how many bytes.
 *  Real-time: yes. Errors: RILL_E_ARG if there is no room; RILL_E_STATE if the plan does not
 *  stream. */
RILL_API rill_status rill_state_save(const rill_session* session, void* bytes, size_t size,
                                     size_t* written) RILL_REAL_TIME;
/** Go on where a stream was saved. The plan may be another one, of the same model with its symbols
 *  bound alike: another pulse, other options, another machine.
 *  Errors: RILL_E_PARSE for bytes that are no state, cut short, damaged, or of another version;
 *  RILL_E_STATE for the state of another model, and where pulses differ in the delay of a node,
 *  with its name. */
RILL_API rill_status rill_state_load(rill_session* session, const void* bytes, size_t size);

/** Run a plan that does not stream: copy the inputs in, step, copy the outputs out. Any strides.
 *  Errors: RILL_E_ARG, _SHAPE, _DTYPE naming the view; RILL_E_STATE for a pulsed plan. */
RILL_API rill_status rill_run(rill_session* session, const rill_view* inputs, size_t input_count,
                              const rill_view* outputs, size_t output_count) RILL_REAL_TIME;

/* ---- threads -------------------------------------------------------------------------------- */

/* Large steps, as whole inputs make them, may be shared by several threads: rows or columns of
 * products and convolutions, entries of a batch, rows of normalisations. The outputs are the same,
 * bit for bit, for any number of them. Steps of a few microseconds, as most pulses are made of,
 * stay on one thread, since the call of another one takes about as long. */

/** Make `count` threads, of which the one that calls a step is the first: so `count` - 1 are
 *  started. They may be shared by any number of sessions. A step that finds them busy with another
 *  session's does all its work itself. Between steps they wait for some 50 microseconds, and sleep
 *  then. They take the scheduling of the thread that calls this, and no signals.
 *  Errors: RILL_E_ARG unless `count` is 1 to 256; RILL_E_NOMEM if the system has no thread left. */
RILL_API rill_status rill_threads_new(uint32_t count, rill_threads** threads);

/** One part of a step, as rill gives it to a pool. */
typedef void (*rill_task)(void* argument, uint32_t part);

/** Threads of the app's own. */
typedef struct rill_pool {
  uint32_t size;
  uint32_t threads; /**< parts that run at the same time, 1 to 256 */
  void* context;
  /** Call `task(argument, part)` once for each part < parts, in any order, on any threads, and
   *  return when all of these calls have; `parts` is `threads` at most. It is called by any thread
   *  that steps a session, throws nothing, and should do no more than that: it is part of a
   *  step. */
  void (*run)(void* context, rill_task task, void* argument, uint32_t parts);
} rill_pool;

/** Have a pool of the app's used. `context` stays valid until all sessions that were given it are
 *  freed or given others; the rill_pool itself may be freed at once.
 *  Errors: RILL_E_ARG, RILL_E_ABI. */
RILL_API rill_status rill_threads_wrap(const rill_pool* pool, rill_threads** threads);
/** Give the handle back, before or after the sessions: those that have the threads keep them, and
 *  the last one ends them. Null is fine. */
RILL_API void rill_threads_free(rill_threads* threads);
/** Have the steps of a session shared by threads; null: done by the calling thread alone, as at
 *  first and in clones. Takes the scratch memory that every thread needs, which rill_session_bytes
 *  counts.
 *  Real-time: no. A step with threads allocates nothing, but wakes threads and waits for them, by
 *  calls of the system where they sleep: sessions of an audio callback should have none.
 *  Errors: RILL_E_ARG, RILL_E_NOMEM. */
RILL_API rill_status rill_session_set_threads(rill_session* session, const rill_threads* threads);

#ifdef __cplusplus
} /* extern "C" */
#endif

#undef RILL_ANY_INT

#endif /* RILL_RILL_H_ */
