#include <utility>

#include "api/src/change.h"
#ifndef RILL_WITHOUT_PLAN_FILES
#include "api/src/opened_plan.h"
#include "core/run/plan_format.h"
#include "nnef_loader/system/files.h"
#include "ops/op_table.h"
#include "ops/step_table.h"
#include "plan_file/read.h"
#endif

namespace rill::api {

#ifdef RILL_WITHOUT_PLAN_FILES

Status no_plan_file(const char* /*path*/) { return {}; }
Status no_plan_file(std::span<const std::byte> /*bytes*/) { return {}; }

#else

Result<plan_file::OpenedAlone> opened_plan(const plan_file::MappedFile& file,
                                           const plan_file::Limits& limits) {
  const plan_file::Known known = plan_file::known_here(ops::step_table(), ops::op_table());
  RILL_ASSIGN(auto opened, plan_file::open(file.bytes, file.owner, known, limits));
  return plan_file::OpenedAlone{std::move(opened.plan), std::move(opened.properties)};
}

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
