#include <memory>
#include <string>

#include "api/src/change.h"
#include "api/src/errors.h"
#include "api/src/guard.h"
#include "api/src/handles.h"
#ifndef RILL_WITHOUT_PLAN_FILES
#include "api/src/open_opts.h"
#include "core/run/plan_format.h"
#include "kernels/target.h"
#include "nnef_loader/system/files.h"
#include "ops/op_table.h"
#include "ops/step_table.h"
#include "plan_file/read.h"
#endif

using rill::api::guarded;
using rill::api::refuse;
using rill::api::report;

namespace {

#ifdef RILL_WITHOUT_PLAN_FILES

rill_status refuse_files(const char* function) {
  return refuse(RILL_E_UNSUPPORTED,
                "%s: this build cannot open plan files; build rill with RILL_PLAN_FILES=ON",
                function);
}

#else

using rill::api::open_options;
using rill::api::OpenOptions;

rill_status open_plan(const rill::plan_file::MappedFile& file, const std::string& path,
                      const rill::plan_file::Limits& limits, rill_plan** plan) {
  rill::plan_file::Known known;
  known.steps = rill::ops::step_table();
  known.modules = rill::ops::op_table();
  known.rank = [](std::string_view target) {
    return rill::kernels::target_rank(std::string(target).c_str());
  };
  known.cpu = rill::kernels::target_name(rill::kernels::running_target());
  auto opened = rill::plan_file::open(file.bytes, file.owner, known, limits);
  if (!opened.ok()) return report(opened.take_status().at(path, 0));
  auto made = std::make_unique<rill_plan>();
  made->plan = std::move(opened->plan);
  made->properties = rill::api::properties_of(std::move(opened->properties));
  rill::api::describe(made.get());
  *plan = made.release();
  return RILL_OK;
}

#endif

}  // namespace

namespace rill::api {

#ifdef RILL_WITHOUT_PLAN_FILES

Status no_plan_file(const char* /*path*/) { return {}; }
Status no_plan_file(std::span<const std::byte> /*bytes*/) { return {}; }

#else

Status no_plan_file(const char* path) {
  std::byte head[sizeof(plan_file::Header)];
  const size_t bytes = system::read_head(path, head);
  if (!plan_file::is_plan_file({head, bytes})) return {};
  return fail(Code::kArg, path, ": it is a compiled model, which holds no graph")
      .hint("Open it with rill_plan_open");
}

Status no_plan_file(std::span<const std::byte> bytes) {
  if (!plan_file::is_plan_file(bytes)) return {};
  return fail(Code::kArg, "the bytes are a compiled model, which holds no graph")
      .hint("Open it with rill_plan_map");
}

#endif

}  // namespace rill::api

extern "C" {

rill_status rill_plan_open(const char* path, rill_plan** plan) {
  return rill_plan_open_opts(path, nullptr, plan);
}

rill_status rill_plan_open_opts(const char* path, const rill_open_opts* opts, rill_plan** plan) {
  if (!plan) return refuse(RILL_E_ARG, "rill_plan_open: null pointer for the plan");
  *plan = nullptr;
  if (!path) return refuse(RILL_E_ARG, "rill_plan_open: no path");
#ifdef RILL_WITHOUT_PLAN_FILES
  (void)opts;
  return refuse_files("rill_plan_open");
#else
  OpenOptions options;
  const rill_status known = open_options(opts, &options);
  if (known != RILL_OK) return known;
  return guarded("rill_plan_open", [&] {
    auto file = rill::api::file_of(path, options);
    return file.ok() ? open_plan(*file, path, options.limits, plan) : report(file.status());
  });
#endif
}

rill_status rill_plan_map(const void* bytes, size_t size, rill_plan** plan) {
  return rill_plan_map_opts(bytes, size, nullptr, plan);
}

rill_status rill_plan_map_opts(const void* bytes, size_t size, const rill_open_opts* opts,
                               rill_plan** plan) {
  if (!plan) return refuse(RILL_E_ARG, "rill_plan_map: null pointer for the plan");
  *plan = nullptr;
  if (!bytes) return refuse(RILL_E_ARG, "rill_plan_map: no bytes");
#ifdef RILL_WITHOUT_PLAN_FILES
  (void)size, (void)opts;
  return refuse_files("rill_plan_map");
#else
  OpenOptions options;
  const rill_status known = open_options(opts, &options);
  if (known != RILL_OK) return known;
  return guarded("rill_plan_map", [&] {
    return open_plan({nullptr, {static_cast<const std::byte*>(bytes), size}}, "", options.limits,
                     plan);
  });
#endif
}

}  // extern "C"
