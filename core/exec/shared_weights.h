#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "core/exec/plan.h"

namespace rill {

/// The packed weights of plans of one model, with several pulses or lengths. Equal weights are
/// stored once, as long as one of the plans exists.
/// Thread: any.
class SharedWeights {
 public:
  /// Return memory of another plan with the same bytes; null if there is none.
  std::shared_ptr<const void> find(const void* data, int64_t bytes);
  /// Offer packed weights to plans that are prepared later. Small weights are ignored.
  void add(const std::shared_ptr<const void>& data, int64_t bytes);
  /// Drop the entries of freed plans.
  void forget_freed();

 private:
  std::mutex mutex_;
  std::multimap<int64_t, std::weak_ptr<const void>> by_size_;
};

/// As `prepare`, but share packed weights with plans that were prepared with the same `weights`,
/// which may be null. Errors: those of `prepare`.
Result<std::shared_ptr<const Plan>> prepare_sharing(SharedWeights* weights, const Graph& graph,
                                                    const PrepareOptions& options = {});

}  // namespace rill
