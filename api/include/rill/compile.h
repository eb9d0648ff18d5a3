/* rill: a model made ready to run, as a file. What rill_prepare does in an app, at its start, is
 * done once, on any machine: rill_plan_open runs the file where it lies. The program `rill compile`
 * does the same, and finds the layers whose weights may have fewer bits.
 *
 * Not for real-time threads. What is told by a call of the app's own function is valid during that
 * call.
 */
#ifndef RILL_COMPILE_H_
#define RILL_COMPILE_H_

#include "rill.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The weights of a layer, which could have fewer bits. */
typedef struct rill_weight_layer {
  uint32_t size;
  const char* node;
  const char* op;
  int64_t f32_bytes; /**< that a step reads, where they are f32 */
  int64_t bytes;     /**< that it does read */
  const char* kept;  /**< why they are f32; "" where they have fewer bits */
} rill_weight_layer;

typedef struct rill_compile_opts {
  uint32_t size;
  int32_t no_notes;    /**< not 0: leave out what profiles show */
  const char* targets;     /**< CPUs, as in "avx2,neon"; null: this one */
  const char* weights;     /**< "f16", "q8" or "q4", which changes outputs; null: as they are */
  const char* const* keep; /**< nodes whose weights stay f32; or null */
  size_t keep_count;
  void (*layer)(void* user, const rill_weight_layer* layer); /**< called for each; or null */
  void* user;
} rill_compile_opts;

/** Write a plan of a model to a file, for each of the CPUs. All symbols of the model are bound, or
 *  it is pulsed. The same model gives the same bytes. `opts` may be null.
 *  Errors: RILL_E_ARG for unknown CPUs, formats and nodes; RILL_E_SYMBOL with the unbound symbols;
 *  RILL_E_UNSUPPORTED for CPUs that this build has no kernels for, a model of which no layer can
 *  have such weights, and in builds without RILL_PLAN_FILES; those of rill_prepare; RILL_E_IO. */
RILL_API rill_status rill_compile(const rill_model* model, const rill_compile_opts* opts,
                                  const char* path);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* RILL_COMPILE_H_ */
