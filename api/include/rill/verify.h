/** @file
 * Checks of a model before it ships. Do its streams give the frames of a whole run of my
 * inputs? How late is each output, and which layers add to that?
 *
 * Not for real-time threads: these functions pulse, prepare and run models. Texts and arrays that a
 * callback receives are valid during that call. rill_model_audit of rill.h needs no inputs.
 */
#ifndef RILL_VERIFY_H_
#define RILL_VERIFY_H_

#include "rill.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One mode of running the model, with its result. */
typedef struct rill_check_mode {
  uint32_t size; /**< sizeof(rill_check_mode) */
  int32_t same_bits;   /**< not 0: all compared frames have the bits of the whole run */
  const char* name;    /**< "pushed in pieces" */
  int64_t pulse;       /**< 0: the whole run */
  int64_t outputs;     /**< number of compared outputs */
  int64_t frames;      /**< compared frames; elements of outputs that do not stream */
  const char* problem; /**< first difference, with output and frame; "" if there is none */
  const char* skipped; /**< why nothing was compared, if that is allowed; else "" */
} rill_check_mode;

/** Options of a check. */
typedef struct rill_check_opts {
  uint32_t size; /**< sizeof(rill_check_opts) */
  const char* symbol; /**< the stream symbol; null: "S" */
  const char* pulses; /**< "1,8,16"; null: the least pulse, and 2 and 5 times that */
  /** Expected outputs of the whole run, from another program: one view per output, or null. A view
   *  without data is not compared. Values may differ by 1e-4 + 5e-4 of the value. */
  const rill_view* expected;
  size_t expected_count; /**< number of views in `expected`; 0 if it is null */
  /** Absolute tolerance of frames. If both tolerances are 0, they are 1e-7, and 1e-5 downstream of
   *  attention. */
  double absolute;
  double relative; /**< tolerance as a share of the value of the whole run */
  uint64_t seed; /**< of the sizes of pushed pieces */
  void (*mode)(void* user, const rill_check_mode* mode); /**< called for each mode; or null */
  void* user; /**< the first argument of `mode` */
} rill_check_opts;

/** Result of a check. */
typedef struct rill_check_report {
  uint32_t size; /**< sizeof(rill_check_report) */
  int64_t frames;  /**< of the stream, a value of its symbol */
  int64_t modes;   /**< number of modes */
  int64_t failed;  /**< modes with a difference */
  int64_t outputs; /**< compared outputs of streams */
} rill_check_report;

/** Run a model that is not pulsed on these inputs, and compare streams of them with that run, at
 *  several pulses: step by step with NaN after the end, pushed in pieces, reset in the middle,
 *  saved and loaded, and moved to the next pulse and back. `inputs`: one view per input, in order;
 *  their shapes bind the symbols. `opts` and `report` may be null.
 *  Errors: RILL_E_STATE if nothing was compared, or if a mode differs: the message describes the
 *  first such mode, and rill_last_error_info names the first node that differs. `report` is filled
 *  in then, too. RILL_E_SHAPE, _DTYPE, _SYMBOL for inputs that do not fit; RILL_E_PULSE if the
 *  model cannot stream; RILL_E_UNSUPPORTED in builds without RILL_AUDIT. */
RILL_API rill_status rill_check(const rill_model* whole, const rill_view* inputs,
                                size_t input_count, const rill_check_opts* opts,
                                rill_check_report* report);

/** An unknown delay or number of frames. */
#define RILL_UNKNOWN INT64_MIN

/** How a wire of the whole model streams, and why it lags. Latencies are in frames of the first
 *  streaming input; delays and other frames are those of the wire. */
typedef struct rill_wire_latency {
  uint32_t size; /**< sizeof(rill_wire_latency) */
  int32_t line;        /**< of the node in graph.nnef; 0: unknown */
  size_t index;        /**< index of the wire, in the order of the model */
  const char* node;    /**< name of the node that gives it */
  const char* op;      /**< operator of that node */
  int32_t slot;        /**< index of the output of the node */
  int32_t axis;        /**< streaming axis */
  int64_t pulse;       /**< frames per step */
  int64_t delay;       /**< frames that the wire lags behind */
  int64_t least_delay; /**< lower bound for every stream of this pulse; RILL_UNKNOWN */
  double before;       /**< latency of the input that lags most */
  double after;        /**< latency of the wire; the node adds the difference */
  int64_t state_bytes; /**< state of the node in each session */
  const char* causes;  /**< "keeps 2 earlier frames; x waits 3 frames for y"; "" for none */
} rill_wire_latency;

/** How late an output is. */
typedef struct rill_output_latency {
  uint32_t size; /**< sizeof(rill_output_latency) */
  int32_t axis;        /**< streaming axis; -1: none, and only `name` and `index` are set */
  size_t index;        /**< index of the output */
  const char* name;    /**< name of the output */
  int64_t pulse;       /**< frames per step */
  int64_t delay;       /**< frames that the output lags behind: drop them at the start */
  int64_t least_delay; /**< lower bound for every stream of this pulse; RILL_UNKNOWN */
  double latency;      /**< the delay in frames of the first streaming input */
  const size_t* path;  /**< slowest path from an input to the output: indices of wires */
  size_t path_count;   /**< number of indices in `path` */
} rill_output_latency;

/** A candidate of the pulse "auto". Latencies are in frames of the stream symbol. */
typedef struct rill_pulse_choice {
  uint32_t size; /**< sizeof(rill_pulse_choice) */
  int32_t chosen;      /**< not 0: this candidate was chosen */
  int64_t pulse;       /**< frames of the stream symbol per step */
  double delay;        /**< of the output that lags most */
  double latency;      /**< time from the first frame of a pulse to its output */
  double step_us;      /**< microseconds, by a cost model of one core */
  int64_t state_bytes; /**< of a session, kept from step to step */
  int64_t arena_bytes; /**< of a session, used during a step */
} rill_pulse_choice;

/** Options of an inspection. */
typedef struct rill_inspect_opts {
  uint32_t size; /**< sizeof(rill_inspect_opts) */
  double seconds; /**< wall-clock time for proofs of least delays; 0: 2; below 0: no proofs */
  void (*wire)(void* user, const rill_wire_latency* wire);       /**< called for each; or null */
  void (*output)(void* user, const rill_output_latency* output); /**< called for each; or null */
  void (*choice)(void* user, const rill_pulse_choice* choice);   /**< called for each; or null */
  void* user; /**< the first argument of these functions */
} rill_inspect_opts;

/** How a model streams at a pulse. */
typedef struct rill_inspect_report {
  uint32_t size; /**< sizeof(rill_inspect_report) */
  int32_t late_end;       /**< 0: the end must be given with the last frames */
  int64_t pulse;          /**< the chosen pulse */
  int64_t multiple_of;    /**< legal pulses are the multiples of it; 0: unknown */
  int64_t wires;          /**< number of reported wires */
  int64_t outputs;        /**< number of reported outputs */
  double latency;         /**< of the output that lags most */
  int64_t state_bytes;    /**< of a session, kept from step to step */
  int64_t arena_bytes;    /**< of a session, used during a step */
  int64_t longest;        /**< longest stream; RILL_UNKNOWN: no limit */
} rill_inspect_report;

/** Report how a model would stream after rill_model_pulse with this symbol (null: "S") and pulse:
 *  how late each output is, through which wires, and the least possible delays. Symbols other than
 *  the stream symbol become 1. The model does not change. `opts` and `report` may be null.
 *  Errors: those of rill_model_pulse and rill_prepare; RILL_E_UNSUPPORTED in builds without
 *  RILL_AUDIT. */
RILL_API rill_status rill_inspect(const rill_model* whole, const char* symbol, const char* pulse,
                                  const rill_inspect_opts* opts, rill_inspect_report* report);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* RILL_VERIFY_H_ */
