#pragma once

#include <memory>
#include <string>

#include "tests/support/array.h"

namespace rill::test {

struct Release {
  void operator()(rill_model* model) const { rill_model_free(model); }
  void operator()(rill_plan* plan) const { rill_plan_release(plan); }
  void operator()(rill_session* session) const { rill_session_free(session); }
};
using ModelPtr = std::unique_ptr<rill_model, Release>;
using PlanPtr = std::unique_ptr<rill_plan, Release>;
using SessionPtr = std::unique_ptr<rill_session, Release>;

/// Load a model and bind every symbol in the shapes of `inputs`, except `streaming`. Null on
/// failure; rill_last_error has the reason.
ModelPtr load_bound(const std::string& archive, const Arrays& inputs, const std::string& streaming);

/// A session with its plan; both null on failure.
struct Opened {
  PlanPtr plan;
  SessionPtr session;
};
Opened open_session(rill_model* model);
/// Load, bind, pulse and prepare.
Opened open_stream(const std::string& archive, const Arrays& inputs, const std::string& symbol,
                   int64_t pulse);

/// Run a session of a whole graph once. Empty on failure; rill_last_error has the reason.
Arrays run_once(const Opened& opened, const Arrays& inputs);
/// Run the whole graph. Empty on failure; rill_last_error has the reason.
Arrays run_whole(const std::string& archive, const Arrays& inputs);
/// When a stream announces its end.
enum class EndAnnounced { kWithTheLastFrames, kAStepLater };

/// Run a session pulse by pulse; input past the end is NaN. Return the valid frames, concatenated.
/// Empty on failure; rill_last_error has the reason.
Arrays run_stream(const Opened& stream, const Arrays& inputs,
                  EndAnnounced announced = EndAnnounced::kWithTheLastFrames);

}  // namespace rill::test
