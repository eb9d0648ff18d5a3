#include "core/run/index_step.h"

#include "core/run/index_range.h"
#include "core/run/session.h"
#include "core/run/touches.h"

namespace rill {

void run_watch_indices(const WatchIndicesArgs& args, const Frame& frame) noexcept {
  frame.ptr<BadIndex>(args.bad)->found = 0;
}

void run_check_indices(const CheckIndicesArgs& args, const Frame& frame) noexcept {
  BadIndex& bad = *frame.ptr<BadIndex>(args.bad);
  if (bad.found != 0) return;
  const Beyond beyond = first_beyond(frame.view(args.indices), args.least, args.most);
  if (beyond.at < 0) return;
  bad = {1, args.node, beyond.number, beyond.at, args.least, args.most};
}

void touch_watch_indices(const WatchIndicesArgs& args, StepTouches& touches) {
  touches.keeps(region<BadIndex>(args.bad).aligned(alignof(BadIndex)));
}

void touch_check_indices(const CheckIndicesArgs& args, StepTouches& touches) {
  touches.require(is_int(args.indices.dtype), "indices of a type of integers");
  if (!touches.holds()) return;
  touches.reads(args.indices);
  touches.keeps(region<BadIndex>(args.bad).aligned(alignof(BadIndex)));
}

Refusal check_computed_indices(PlacedSession& session) {
  if (!computed_bad_index(session)) return {};
  const Plan& plan = session.plan();
  const auto& watch = *static_cast<const WatchIndicesArgs*>(plan.steps[0].args);
  const BadIndex& bad = *session.frame().ptr<const BadIndex>(watch.bad);
  const bool known = bad.node >= 0 && static_cast<size_t>(bad.node) < plan.nodes.size();
  const PlanNode* node = known ? &plan.nodes[static_cast<size_t>(bad.node)] : nullptr;
  const IndexWords words = index_words(bad.least);
  return refusal(Code::kArg, words.hint,
                 "node \"%s\" (%s) reads the %s %lld at element %lld, which the model computed: "
                 "expected %lld to %lld",
                 node ? node->name.c_str() : "", node ? node->op.c_str() : "", words.noun,
                 static_cast<long long>(bad.number), static_cast<long long>(bad.at),
                 static_cast<long long>(bad.least), static_cast<long long>(bad.most));
}

extern const StepKind watch_indices_kind;
extern const StepKind check_indices_kind;
const StepKind watch_indices_kind = kWatchIndices;
const StepKind check_indices_kind = kCheckIndices;

}  // namespace rill
