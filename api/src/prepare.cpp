#include <memory>

#include "api/src/errors.h"
#include "api/src/guard.h"
#include "api/src/model_handle.h"
#include "api/src/progress.h"
#include "core/base/raise_limit.h"
#include "core/exec/plan.h"
#include "nnef_loader/properties.h"

using rill::api::alive;
using rill::api::guarded_with_progress;
using rill::api::refuse;
using rill::api::report;

namespace {

rill_status make_plan(const rill_model& model, const rill::PrepareOptions& options, int64_t limit,
                      rill_plan** plan) {
  auto prepared = rill::prepare_sharing(model.weights.get(), model.graph, options);
  if (!prepared.ok()) {
    model.weights->forget_freed();
    rill::Status status = prepared.take_status();
    if (status.code() == rill::Code::kSymbol) {
      status = std::move(status).hint(
          "Bind it with rill_model_set_symbol, or stream along it with "
          "rill_model_pulse");
    }
    return report(status);
  }
  auto made = std::make_unique<rill_plan>();
  made->plan = std::move(prepared).value();
  made->properties =
      rill::api::properties_of(rill::nnef::property_list(model.graph.properties));
  rill::api::describe(made.get());
  const int64_t session = made->plan->arena_bytes + made->plan->state_bytes + made->io_bytes;
  if (limit > 0 && session > limit) {
    return report(
        rill::fail(rill::Code::kNoMem, "a session takes ", session, " bytes: the limit is ", limit)
            .hint(rill::raise_limit("max_session_bytes", "rill_plan_opts")));
  }
  *plan = made.release();
  return RILL_OK;
}

}  // namespace

extern "C" {

rill_status rill_prepare(const rill_model* model, const rill_plan_opts* opts, rill_plan** plan) {
  if (!plan) return refuse(RILL_E_ARG, "rill_prepare: null pointer for the plan");
  *plan = nullptr;
  if (!alive(model)) {
    return refuse(RILL_E_ARG, "rill_prepare: not a model: null, freed, or another kind of object");
  }
  rill::PrepareOptions options;
  int64_t limit = 0;
  if (opts) {
    const rill_status known = rill::api::check_size(opts, "rill_plan_opts");
    if (known != RILL_OK) return known;
    options.optimize = opts->plain == 0;
    limit = opts->max_session_bytes;
  }
  return guarded_with_progress("rill_prepare",
                               [&] { return make_plan(*model, options, limit, plan); });
}

}  // extern "C"
