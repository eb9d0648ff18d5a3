#include "core/graph/rewrite.h"
#include "ops/op_table.h"

namespace rill::ops {

Status fuse_by_rooms(const Op& op, Rewrite& rewrite) {
  for (const OpRoom* room : op_table()) {
    for (const FuseRule& rule : room->rules) {
      if (rule.of != op.kind() || rewrite.replacement()) continue;
      RILL_TRY(rule.fuse(rewrite));
    }
  }
  return {};
}

}  // namespace rill::ops
