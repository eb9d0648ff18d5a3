/** @file
 * Progress of long calls, and a way to end them early: an app shows a progress bar for a model of a
 * hundred million weights, and cancels the call when its user closes the window.
 *
 * Not for real-time threads. Steps of sessions report nothing.
 */
#ifndef RILL_PROGRESS_H_
#define RILL_PROGRESS_H_

#include "rill.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
#define RILL_ANY_INT : int
#else
#define RILL_ANY_INT
#endif

/** The work of a call. A call may have several, such as an inspection: it pulses, then prepares. */
typedef enum rill_stage RILL_ANY_INT {
  RILL_STAGE_LOAD = 0,    /**< rill_load, rill_load_memory */
  RILL_STAGE_PULSE = 1,   /**< rill_model_pulse, rill_inspect */
  RILL_STAGE_PREPARE = 2, /**< rill_prepare, rill_inspect */
  RILL_STAGE_COMPILE = 3, /**< rill_compile */
  RILL_STAGE_CHECK = 4,   /**< rill_check */
  RILL_STAGE_AUDIT = 5    /**< rill_model_audit: the fraction of its time */
} rill_stage;

/** Receives the fraction of a stage that is done, from 0 to 1; within a stage it never falls.
 *  Returns whether to continue: 0 cancels the call, which then fails with RILL_E_CANCELLED. */
typedef int (*rill_progress_fn)(void* user, rill_stage stage, double fraction);

/** Set the function that receives the progress of the calls of this thread; null removes it. It
 *  runs on this thread, many times per call; calls that it makes report no progress. A cancelled
 *  call leaves the model as it was, gives no model and no plan, and writes no file.
 *  Thread: each has its own function. */
RILL_API void rill_set_progress(rill_progress_fn progress, void* user);
/** Return the name of a stage: "load", "pulse", ...; "unknown" for an unknown one. */
RILL_API const char* rill_stage_name(rill_stage stage);

#undef RILL_ANY_INT

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* RILL_PROGRESS_H_ */
