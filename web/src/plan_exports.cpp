// Additional exports for opening compiled models: rill_run.wasm.

#include <cstdlib>
#include <memory>

#include "web/src/exports.h"

using rill::web::Plan;
using rill::web::Run;

/// Open a compiled model in memory of `web_alloc`. The model then owns this memory, also if it
/// refuses it, and frees it. Limits of 0 are the defaults.
WEB_API Plan* web_compiled_load(void* bytes, size_t size, double max_file_bytes,
                                double max_session_bytes, double max_step_work, double max_outputs,
                                double max_buffers) {
  const std::shared_ptr<void> file(bytes, std::free);
  auto opts = rill::web::sized<rill_open_opts>();
  opts.max_file_bytes = static_cast<int64_t>(max_file_bytes);
  opts.max_session_bytes = static_cast<int64_t>(max_session_bytes);
  opts.max_step_work = static_cast<int64_t>(max_step_work);
  opts.max_outputs = static_cast<int64_t>(max_outputs);
  opts.max_buffers = static_cast<int64_t>(max_buffers);
  rill_plan* plan = nullptr;
  if (rill_plan_map_opts(bytes, size, &opts, &plan) != RILL_OK) return nullptr;
  // The plan reads its weights from this memory.
  return new Plan(plan, [file](rill_plan* own) { rill_plan_release(own); });
}
WEB_API Plan* web_compiled_clone(const Plan* compiled) {
  return new Plan(*compiled);
}
WEB_API void web_compiled_free(Plan* compiled) { delete compiled; }
WEB_API const char* web_compiled_info(const Plan* compiled) {
  return rill::web::describe_plan(compiled->get());
}
WEB_API Run* web_compiled_open(const Plan* compiled, double max_push) {
  return rill::web::open_run(*compiled, max_push);
}
