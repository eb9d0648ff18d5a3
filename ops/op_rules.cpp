#include "core/graph/rewrite.h"
#include "ops/op_table.h"

namespace rill::ops {

Status fuse_by_modules(const Op& op, Rewrite& rewrite) {
  for (const OpModule* module : op_table()) {
    for (const FuseRule& rule : module->rules) {
      if (rule.of != op.kind() || rewrite.replacement()) continue;
      RILL_TRY(rule.fuse(rewrite));
    }
  }
  return {};
}

}  // namespace rill::ops
