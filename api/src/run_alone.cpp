// The parts of librill_run that replace those of librill: it opens plans without graphs and
// operators.

#include <memory>
#include <string>

#include "api/src/errors.h"
#include "api/src/guard.h"
#include "api/src/handles.h"
#include "api/src/open_opts.h"
#include "kernels/target.h"
#include "plan_file/place.h"

extern "C" {
// The program's table from `rill compile --table`, else all step kinds of the library.
extern const rill::StepKind* const rill_steps[];
extern const unsigned long rill_steps_count;
}

using rill::api::guarded;
using rill::api::open_options;
using rill::api::OpenOptions;
using rill::api::refuse;
using rill::api::report;

namespace {

#if defined(__EMSCRIPTEN__)
constexpr rill::Remedies kRemedies = {
    "Compile the model for browsers: rill compile MODEL --target wasm -o PLAN.rill",
    "Load the model itself, which rill.wasm runs",
    "Leave out `wasm`, or make a module for this plan: scripts/web_run.sh PLAN.rill -o FOLDER"};
#else
constexpr rill::Remedies kRemedies{};
#endif

int rank_of(std::string_view target) {
  return rill::kernels::target_rank(std::string(target).c_str());
}

rill_status open_plan(const rill::plan_file::MappedFile& file, const char* path,
                      const rill::plan_file::Limits& limits, rill_plan** plan) {
  const rill::Runner runner{{rill_steps, rill_steps_count}, rank_of, true, kRemedies};
  auto placed = rill::plan_file::place(file.bytes, file.owner, runner, limits);
  if (!placed.ok()) return report(placed.take_status().at(path, 0));
  auto made = std::make_unique<rill_plan>();
  made->plan = std::move(placed->plan);
  made->properties = rill::api::properties_of(std::move(placed->properties));
  rill::api::describe(made.get());
  *plan = made.release();
  return RILL_OK;
}

}  // namespace

extern "C" {

const char* rill_build_info(void) {
  return "rill " RILL_VERSION ", " RILL_BUILD_TYPE ", compiler " __VERSION__
         ", only for compiled models";
}

rill_status rill_plan_open(const char* path, rill_plan** plan) {
  return rill_plan_open_opts(path, nullptr, plan);
}

rill_status rill_plan_open_opts(const char* path, const rill_open_opts* opts, rill_plan** plan) {
  if (!plan) return refuse(RILL_E_ARG, "rill_plan_open: null pointer for the plan");
  *plan = nullptr;
  if (!path) return refuse(RILL_E_ARG, "rill_plan_open: no path");
  OpenOptions options;
  const rill_status known = open_options(opts, &options);
  if (known != RILL_OK) return known;
  return guarded("rill_plan_open", [&] {
    auto file = rill::api::file_of(path, options);
    return file.ok() ? open_plan(*file, path, options.limits, plan) : report(file.status());
  });
}

rill_status rill_plan_map(const void* bytes, size_t size, rill_plan** plan) {
  return rill_plan_map_opts(bytes, size, nullptr, plan);
}

rill_status rill_plan_map_opts(const void* bytes, size_t size, const rill_open_opts* opts,
                               rill_plan** plan) {
  if (!plan) return refuse(RILL_E_ARG, "rill_plan_map: null pointer for the plan");
  *plan = nullptr;
  if (!bytes) return refuse(RILL_E_ARG, "rill_plan_map: no bytes");
  OpenOptions options;
  const rill_status known = open_options(opts, &options);
  if (known != RILL_OK) return known;
  return guarded("rill_plan_map", [&] {
    return open_plan({nullptr, {static_cast<const std::byte*>(bytes), size}}, "", options.limits,
                     plan);
  });
}

}  // extern "C"
