#include "core/base/progress.h"

#include <algorithm>
#include <utility>

namespace rill {
namespace {

thread_local ProgressScope* scope = nullptr;

}  // namespace

ProgressScope::ProgressScope(ProgressFn function, void* user) : function_(function), user_(user) {
  if (function_ && !scope) scope = this;
}

ProgressScope::~ProgressScope() {
  if (scope == this) scope = nullptr;
}

ProgressStage::ProgressStage(Stage stage) {
  if (!scope) return;
  outer_ = scope->range_;
  if (scope->stages_++ > 0) {
    if (!outer_.is_part) scope->range_ = {scope->done_, scope->done_};
    scope->range_.is_part = false;
    return;
  }
  scope->stage_ = stage;
  scope->range_ = {};
  scope->done_ = 0;
}

ProgressStage::~ProgressStage() {
  if (!scope) return;
  --scope->stages_;
  scope->range_ = outer_;
}

ProgressPart::ProgressPart(double begin, double end) {
  if (!scope) return;
  outer_ = scope->range_;
  const double span = outer_.end - outer_.begin;
  scope->range_ = {outer_.begin + begin * span, outer_.begin + end * span, true};
}

ProgressPart::~ProgressPart() {
  if (scope) scope->range_ = outer_;
}

Status progress(double fraction) {
  if (!scope || scope->stages_ == 0) return {};
  if (!scope->cancelled_) {
    const auto& [begin, end, is_part] = scope->range_;
    const double at = begin + (end - begin) * fraction;
    scope->done_ = std::clamp(at, scope->done_, 1.0);
    // Progress within the caller's function does not count as progress of this work.
    ProgressScope* const own = std::exchange(scope, nullptr);
    own->cancelled_ = !own->function_(own->user_, own->stage_, own->done_);
    scope = own;
  }
  if (!scope->cancelled_) return {};
  return fail(Code::kState, "cancelled by the function that receives progress");
}

}  // namespace rill
