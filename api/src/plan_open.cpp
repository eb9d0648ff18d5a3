// How plans are opened, in librill and in librill_run.

#include <memory>
#include <utility>

#include "api/src/errors.h"
#include "api/src/guard.h"
#include "api/src/handles.h"
#include "api/src/open_opts.h"
#include "api/src/opened_plan.h"

using rill::api::refuse;

namespace {

#ifdef RILL_WITHOUT_PLAN_FILES

template <class FileOf>
rill_status open_plan(const char* function, const char* /*path*/, const rill_open_opts* /*opts*/,
                      rill_plan** /*plan*/, const FileOf& /*file_of*/) {
  return refuse(RILL_E_UNSUPPORTED,
                "%s: this build does not open plan files; RILL_PLAN_FILES=ON makes one that does",
                function);
}

#else

template <class FileOf>
rill_status open_plan(const char* function, const char* path, const rill_open_opts* opts,
                      rill_plan** plan, const FileOf& file_of) {
  rill::api::OpenOptions options;
  const rill_status known = rill::api::open_options(opts, &options);
  if (known != RILL_OK) return known;
  return rill::api::guarded(function, [&] {
    auto file = file_of(options);
    if (!file.ok()) return rill::api::report(file.status());
    auto opened = rill::api::opened_plan(*file, options.limits);
    if (!opened.ok()) return rill::api::report(opened.take_status().at(path, 0));
    auto made = std::make_unique<rill_plan>();
    made->plan = std::move(opened->plan);
    made->properties = rill::api::properties_of(std::move(opened->properties));
    rill::api::describe(made.get());
    *plan = made.release();
    return RILL_OK;
  });
}

#endif

}  // namespace

extern "C" {

rill_status rill_plan_open(const char* path, rill_plan** plan) {
  return rill_plan_open_opts(path, nullptr, plan);
}

rill_status rill_plan_open_opts(const char* path, const rill_open_opts* opts, rill_plan** plan) {
  if (!plan) return refuse(RILL_E_ARG, "rill_plan_open: null pointer for the plan");
  *plan = nullptr;
  if (!path) return refuse(RILL_E_ARG, "rill_plan_open: no path");
  return open_plan("rill_plan_open", path, opts, plan,
                   [&](const auto& options) { return rill::api::file_of(path, options); });
}

rill_status rill_plan_map(const void* bytes, size_t size, rill_plan** plan) {
  return rill_plan_map_opts(bytes, size, nullptr, plan);
}

rill_status rill_plan_map_opts(const void* bytes, size_t size, const rill_open_opts* opts,
                               rill_plan** plan) {
  if (!plan) return refuse(RILL_E_ARG, "rill_plan_map: null pointer for the plan");
  *plan = nullptr;
  if (!bytes) return refuse(RILL_E_ARG, "rill_plan_map: no bytes");
  return open_plan("rill_plan_map", "", opts, plan, [&](const auto&) {
    return rill::Result<rill::plan_file::MappedFile>(
        {nullptr, {static_cast<const std::byte*>(bytes), size}});
  });
}

}  // extern "C"
