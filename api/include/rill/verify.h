/* rill: what is asked of a model before it ships. Do its streams give the frames of a whole run of
 * my inputs? How late is each output, and which layers cost that?
 *
 * Not for real-time threads: models are pulsed, prepared and run here. What is told by a call of
 * the app's own function is valid during that call. rill_model_audit of rill.h needs no inputs.
 */
#ifndef RILL_VERIFY_H_
#define RILL_VERIFY_H_

#include "rill.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One way of running the model, and what came of it. */
typedef struct rill_check_way {
  uint32_t size;
  int32_t same_bits;   /**< not 0: all that was compared has the bits of the whole run */
  const char* name;    /**< "pushed in pieces" */
  int64_t pulse;       /**< 0: the whole run */
  int64_t outputs;     /**< that were compared */
  int64_t frames;      /**< of these; elements where outputs do not stream */
  const char* problem; /**< what differs first, with output and frame; "" if nothing does */
  const char* skipped; /**< why there was nothing to compare, where that is no fault; "" */
} rill_check_way;

typedef struct rill_check_opts {
  uint32_t size;
  const char* symbol; /**< of the axis that streams; null: "S" */
  const char* pulses; /**< "1,8,16"; null: the least one, twice and five times as many frames */
  /** What the whole run should give, from another program: one view per output, or null. A view
   *  without data is not compared. Others may differ by 1e-4 + 5e-4 of the value. */
  const rill_view* expected;
  size_t expected_count;
  /** What frames may differ by: both 0 stand for 1e-7, and for 1e-5 behind attention. */
  double absolute, relative;
  uint64_t seed; /**< of the sizes of pieces that are pushed */
  void (*way)(void* user, const rill_check_way* way); /**< called for each way; or null */
  void* user;
} rill_check_opts;

typedef struct rill_check_report {
  uint32_t size;
  int64_t frames;  /**< of the stream, in its symbol */
  int64_t ways;    /**< of running the model */
  int64_t failed;  /**< ... that differ */
  int64_t outputs; /**< of streams that were compared */
} rill_check_report;

/** Run a model that is not pulsed on these inputs, and compare streams of them to that run, at
 *  several pulses: step by step with NaN past the end, pushed in pieces, begun again in the middle,
 *  saved and loaded, and moved to the next pulse and back.
 *  `inputs`: one view per input, in order; they tell the symbols. `opts` and `report` may be null.
 *  Errors: RILL_E_STATE where a way differs, with the first one (rill_last_error_info: the first
 *  node that differs), and where nothing was compared: the report is filled in then. RILL_E_SHAPE,
 *  _DTYPE, _SYMBOL for inputs that do not fit; RILL_E_PULSE where the model takes no pulses;
 *  RILL_E_UNSUPPORTED in builds without RILL_AUDIT. */
RILL_API rill_status rill_check(const rill_model* whole, const rill_view* inputs,
                                size_t input_count, const rill_check_opts* opts,
                                rill_check_report* report);

/** A delay or a number of frames that is not known. */
#define RILL_UNKNOWN INT64_MIN

/** How a wire of the whole model streams, and why it lags. Latencies are in frames of the first
 *  input that streams; delays and frames are those of the wire. */
typedef struct rill_wire_latency {
  uint32_t size;
  int32_t line;        /**< of the node in graph.nnef; 0: unknown */
  size_t index;        /**< counts the wires, in the order of the model */
  const char* node;
  const char* op;
  int32_t slot;        /**< which output of the node */
  int32_t axis;        /**< that streams */
  int64_t pulse;       /**< frames per step */
  int64_t delay;
  int64_t least_delay; /**< no stream of this pulse has less; RILL_UNKNOWN */
  double before;       /**< latency of the input that lags most */
  double after;        /**< latency of the wire: what lies between is added by the node */
  int64_t state_bytes; /**< that a session keeps for the node */
  const char* causes;  /**< "keeps 2 earlier frames; x waits 3 frames for y", or "" */
} rill_wire_latency;

/** How late an output is. */
typedef struct rill_output_latency {
  uint32_t size;
  int32_t axis;        /**< that streams; -1: it does not, and only `name` and `index` are told */
  size_t index;
  const char* name;
  int64_t pulse;       /**< frames per step */
  int64_t delay;       /**< frames of the output to drop */
  int64_t least_delay; /**< no stream of this pulse has less; RILL_UNKNOWN */
  double latency;      /**< the delay in frames of the first input that streams */
  const size_t* path;  /**< the slowest way from an input to the output: indices of wires */
  size_t path_count;
} rill_output_latency;

/** A pulse that "auto" chose from. Latencies are in frames of the stream symbol. */
typedef struct rill_pulse_choice {
  uint32_t size;
  int32_t chosen;      /**< not 0: the one that was taken */
  int64_t pulse;
  double delay;        /**< of the output that lags most */
  double latency;      /**< what the first frame of a pulse waits for its answer */
  double step_us;      /**< microseconds, by a cost model of one core */
  int64_t state_bytes, arena_bytes; /**< of a session */
} rill_pulse_choice;

typedef struct rill_inspect_opts {
  uint32_t size;
  double seconds; /**< of wall clock, for proofs of least delays; 0: 2; below 0: none are tried */
  void (*wire)(void* user, const rill_wire_latency* wire);       /**< called for each; or null */
  void (*output)(void* user, const rill_output_latency* output); /**< called for each; or null */
  void (*choice)(void* user, const rill_pulse_choice* choice);   /**< called for each; or null */
  void* user;
} rill_inspect_opts;

typedef struct rill_inspect_report {
  uint32_t size;
  int32_t late_end;       /**< 0: the end has to be told with the last frames */
  int64_t pulse;          /**< that was taken */
  int64_t multiple_of;    /**< legal pulses are the multiples of it; 0: unknown */
  int64_t wires, outputs; /**< that were told */
  double latency;         /**< of the output that lags most */
  int64_t state_bytes, arena_bytes; /**< of a session */
  int64_t longest;        /**< no stream may be longer; RILL_UNKNOWN: any may be */
} rill_inspect_report;

/** Tell what rill_model_pulse with this symbol (null: "S") and pulse would make of a model: how
 *  late each output is, by which wires, and what no stream can be below. Symbols other than the
 *  stream's are taken as 1. The model stays as it is. `opts` and `report` may be null.
 *  Errors: those of rill_model_pulse and rill_prepare; RILL_E_UNSUPPORTED in builds without
 *  RILL_AUDIT. */
RILL_API rill_status rill_inspect(const rill_model* whole, const char* symbol, const char* pulse,
                                  const rill_inspect_opts* opts, rill_inspect_report* report);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* RILL_VERIFY_H_ */
