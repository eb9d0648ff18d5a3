#include "api/src/progress.h"

namespace rill::api {
namespace {

/// The function that a thread has set.
struct Receiver {
  rill_progress_fn function = nullptr;
  void* user = nullptr;
  int running = 0;  ///< calls of the function that have not returned
};
thread_local Receiver receiver;

constexpr const char* kNames[] = {"load", "pulse", "prepare", "compile", "check", "audit"};

static_assert(static_cast<int>(rill::Stage::kLoad) == RILL_STAGE_LOAD);
static_assert(static_cast<int>(rill::Stage::kPulse) == RILL_STAGE_PULSE);
static_assert(static_cast<int>(rill::Stage::kPrepare) == RILL_STAGE_PREPARE);
static_assert(static_cast<int>(rill::Stage::kCompile) == RILL_STAGE_COMPILE);
static_assert(static_cast<int>(rill::Stage::kCheck) == RILL_STAGE_CHECK);
static_assert(static_cast<int>(rill::Stage::kAudit) == RILL_STAGE_AUDIT);

}  // namespace

ProgressCall::ProgressCall()
    : function_(receiver.function),
      user_(receiver.user),
      scope_(function_ && receiver.running == 0 ? receive : nullptr, this) {}

bool ProgressCall::receive(void* call, rill::Stage stage, double fraction) {
  const auto* const own = static_cast<const ProgressCall*>(call);
  struct Running {
    Running() { ++receiver.running; }
    ~Running() { --receiver.running; }
  } running;
  return own->function_(own->user_, static_cast<rill_stage>(stage), fraction) != 0;
}

rill_status ProgressCall::end(const char* function, rill_status status) const {
  if (status == RILL_OK || !scope_.cancelled()) return status;
  return refuse(RILL_E_CANCELLED, "%s: cancelled by the function of rill_set_progress", function);
}

}  // namespace rill::api

extern "C" {

void rill_set_progress(rill_progress_fn progress, void* user) {
  rill::api::receiver.function = progress;
  rill::api::receiver.user = user;
}

const char* rill_stage_name(rill_stage stage) {
  const bool known = stage >= RILL_STAGE_LOAD && stage <= RILL_STAGE_AUDIT;
  return known ? rill::api::kNames[stage] : "unknown";
}

}  // extern "C"
