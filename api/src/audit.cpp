#include "audit/audit.h"

#include "api/src/errors.h"
#include "api/src/guard.h"
#include "api/src/model_handle.h"
#include "api/src/progress.h"
#include "audit/windows.h"
#include "ops/built.h"

#ifndef RILL_WITHOUT_AUDIT
namespace {

void report_to(const rill::audit::Report& from, rill_audit_report* to) {
  const uint32_t size = to->size;
  *to = {};
  to->size = size;
  to->lengths = static_cast<int64_t>(from.lengths.size());
  to->shortest = from.lengths.empty() ? 0 : from.lengths.front();
  to->longest = from.lengths.empty() ? 0 : from.lengths.back();
  to->undefined = from.undefined;
  to->refused = from.refused;
  to->edges = from.edges;
  to->edges_compared = from.edges_compared;
  to->period = from.period;
  to->remainders = from.remainders;
  for (const auto& [mode, streams] : from.modes) to->streams += streams;
  to->outputs = from.outputs;
  to->frames = from.frames;
}

rill_status run_audit(const rill_model& whole, const rill_model& pulsed,
                      const rill::audit::Options& options, rill_audit_report* report) {
  const auto done = rill::audit::audit(whole.graph, pulsed.graph, options);
  if (!done.ok()) return rill::api::report(done.status());
  if (report) report_to(*done, report);
  const rill::Status verdict = done->verdict();
  if (done->outcome() == rill::audit::Outcome::kNotReached) {
    return rill::api::refuse(RILL_E_NOT_REACHED, "%s. %s", verdict.error().message.c_str(),
                             verdict.error().hint.c_str());
  }
  return verdict.ok() ? RILL_OK : rill::api::report(verdict);
}

}  // namespace
#endif

extern "C" {

rill_status rill_model_audit(const rill_model* whole, const rill_model* pulsed,
                             const rill_audit_opts* opts, rill_audit_report* report) {
  using rill::api::alive;
  using rill::api::refuse;
  if (!alive(whole) || !alive(pulsed)) {
    return refuse(RILL_E_ARG,
                  "rill_model_audit: not a model: null, freed, or another kind of object");
  }
#ifdef RILL_WITHOUT_AUDIT
  (void)opts, (void)report;
  return refuse(RILL_E_UNSUPPORTED,
                "rill_model_audit: this build cannot audit models; build rill with RILL_AUDIT=ON");
#else
  if (opts) {
    const rill_status known = rill::api::check_size(opts, "rill_audit_opts");
    if (known != RILL_OK) return known;
    if (!(opts->seconds >= 0)) return refuse(RILL_E_ARG, "rill_model_audit: seconds below 0");
  }
  if (report) {
    const rill_status known = rill::api::check_size(report, "rill_audit_report");
    if (known != RILL_OK) return known;
  }
  return rill::api::guarded_with_progress("rill_model_audit", [&] {
    rill::audit::Options options;
    if (opts && opts->seconds > 0) options.seconds = opts->seconds;
    if (opts) options.seed = opts->seed;
    if constexpr (rill::ops::built("windows")) options.windows = rill::audit::run_windows;
    return run_audit(*whole, *pulsed, options, report);
  });
#endif
}

}  // extern "C"
