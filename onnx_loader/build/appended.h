#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "onnx_loader/build/loader.h"

namespace rill::onnx {

/// A loop whose iterations append to a sequence, or concatenate to a tensor, as PyTorch writes
/// `outputs.append(y)` and `y = torch.cat([y, row])`. The appended tensors become a scan output of
/// the loop, so that its states keep their shapes.
class AppendingLoop {
 public:
  /// All arguments must outlive it.
  AppendingLoop(const NodeProto& node, const std::string& name, Loader* loader, Env* env)
      : node_(node), name_(name), loader_(*loader), env_(*env) {}

  /// Return whether a node is a loop with states.
  static bool is_loop(const NodeProto& node);

  /// Read the body and find the sequences that it appends to. Errors: those of reading;
  /// kUnsupported for a sequence that is used in another way.
  Status look();
  bool appends() const { return !appended_.empty(); }
  bool has_sequences() const { return has_sequences_; }
  /// Return the loop unchanged, with the body that `look` has read. Consumes the body.
  NodeProto plain();
  /// Add the loop and give its outputs their names.
  Status run(int64_t version);

 private:
  /// A state that each iteration only appends to.
  struct Appended {
    size_t state = 0;
    std::vector<std::string_view> rows;  ///< the wires that an iteration appends
    std::optional<int64_t> axis;  ///< the axis along which tensors grow
    bool prepends = false;
    std::vector<std::string_view> lasts;  ///< readers of the last tensor of the sequence
  };

  Status count_reads();
  const NodeProto* maker(std::string_view value) const;
  /// Return the constant value of a scalar, if the file has it.
  std::optional<int64_t> number(std::string_view value);
  /// Return how a state is appended to; nothing if it is used in another way.
  std::optional<Appended> append_of(size_t state, const Sequence* sequence);
  /// Return the readers of the tensor that was last in the sequence before an iteration.
  std::vector<std::string_view> reads_of_last(std::string_view before, const Sequence& sequence);

  /// Add a state for the last appended tensor of list `at`.
  void keep_last(const Appended& each, size_t at, NodeProto* loop, GraphProto* body);
  /// Return the loop without the appended states. Consumes the body.
  NodeProto rewritten();
  Result<OutletId> reversed(OutletId rows, int64_t version);
  /// Name the appended tensors, given a list of all iterations for each tensor of an iteration.
  Status give(const Appended& each, const std::vector<OutletId>& lists, int64_t version);
  Result<Sequence> grown(const Sequence& first, const Appended& by, OutletId rows, int64_t version);

  const NodeProto& node_;
  const std::string& name_;
  Loader& loader_;
  Env& env_;
  GraphProto body_;
  std::unordered_map<std::string_view, int> reads_;
  std::vector<Appended> appended_;
  std::unordered_map<std::string_view, size_t> made_by_;  ///< nodes of the body
  std::unordered_set<size_t> dropped_;
  std::vector<std::string> names_;  ///< of the last tensors before the first iteration
  bool has_sequences_ = false;
};

}  // namespace rill::onnx
