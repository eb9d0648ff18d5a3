#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onnx_loader/build/loader.h"

namespace rill::onnx {

/// Calls operators of NNEF on wires, for the node of that name.
class WireCalls {
 public:
  WireCalls(const std::string& name, Loader* loader, Env* env)
      : name_(name), loader_(*loader), env_(*env) {}

  const Fact& fact(OutletId wire) const { return env_.graph().fact(wire); }
  /// Call an operator of one input and one list of integers.
  Result<OutletId> call(std::string_view nnef, OutletId input, std::string_view list,
                        std::vector<Value> integers) const;
  /// Call `stack` or `concat` on wires.
  Result<OutletId> along(int64_t axis, std::string_view nnef,
                         const std::vector<OutletId>& items) const;
  Result<OutletId> moved(OutletId x, int64_t from, int64_t to) const;
  /// Join the entries of the first axis along another one of theirs.
  Result<OutletId> joined(OutletId rows, int64_t axis) const;
  /// Apply an ONNX operator to wires, with an attribute `axis` if it has one.
  Result<std::vector<OutletId>> read(std::string_view op, int64_t version,
                                     const std::vector<OutletId>& wires,
                                     std::optional<int64_t> axis = {}) const;
  Result<OutletId> constant(Tensor value) const;

 private:
  Result<OutletId> call(std::string_view nnef, std::vector<nnef::CallArgument> arguments) const;

  const std::string& name_;
  Loader& loader_;
  Env& env_;
};

}  // namespace rill::onnx
