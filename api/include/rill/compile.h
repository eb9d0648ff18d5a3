/** @file
 * Plans as files. The work of rill_prepare is done once, on any machine, and rill_plan_open
 * uses the file in place. The program `rill compile` does the same, and finds the layers whose
 * weights can be quantised.
 *
 * Not for real-time threads. Texts that a callback receives are valid during that call.
 */
#ifndef RILL_COMPILE_H_
#define RILL_COMPILE_H_

#include "rill.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A layer whose weights can be quantised. */
typedef struct rill_weight_layer {
  uint32_t size; /**< sizeof(rill_weight_layer) */
  const char* node;  /**< name of the layer's node */
  const char* op;    /**< operator of the node */
  int64_t f32_bytes; /**< bytes that a step reads of f32 weights */
  int64_t bytes;     /**< bytes that a step reads of the stored weights */
  const char* kept;  /**< why the weights stay f32; "" if they are quantised */
} rill_weight_layer;

/** Options of rill_compile. */
typedef struct rill_compile_opts {
  uint32_t size; /**< sizeof(rill_compile_opts) */
  int32_t no_notes;        /**< not 0: omit names and costs, which profiles show */
  const char* targets;     /**< CPUs, as in "avx2,neon"; null: this one */
  const char* weights; /**< "f16", "q8", "q4" or "int8", which changes outputs; null: unchanged */
  const char* const* keep; /**< nodes whose weights stay f32; or null */
  size_t keep_count;       /**< number of names in `keep` */
  void (*layer)(void* user, const rill_weight_layer* layer); /**< called for each; or null */
  void* user; /**< the first argument of `layer` */
} rill_compile_opts;

/** Write the plans of a model, one for each CPU, to a file. All symbols of the model are bound, or
 *  it is pulsed. The same model gives the same bytes. `opts` may be null.
 *  Errors: RILL_E_ARG for unknown CPUs, formats and nodes; RILL_E_SYMBOL with the unbound symbols;
 *  RILL_E_UNSUPPORTED for CPUs without kernels in this build, for a model without layers that can
 *  have such weights, and in builds without RILL_PLAN_FILES; those of rill_prepare; RILL_E_IO. */
RILL_API rill_status rill_compile(const rill_model* model, const rill_compile_opts* opts,
                                  const char* path);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* RILL_COMPILE_H_ */
