#include "onnx_loader/build/wire_calls.h"

#include <algorithm>

namespace rill::onnx {

Result<OutletId> WireCalls::call(std::string_view nnef, OutletId input, std::string_view list,
                                 std::vector<Value> integers) const {
  std::vector<nnef::CallArgument> arguments(2);
  arguments[0] = {"input", nullptr, Value(input)};
  arguments[1] = {list, nullptr, Value(std::move(integers))};
  return call(nnef, std::move(arguments));
}

Result<OutletId> WireCalls::along(int64_t axis, std::string_view nnef,
                                  const std::vector<OutletId>& items) const {
  std::vector<nnef::CallArgument> arguments(2);
  arguments[0] = {"values", nullptr, Value(std::vector<Value>(items.begin(), items.end()))};
  arguments[1] = {"axis", nullptr, Value(Dim(axis))};
  return call(nnef, std::move(arguments));
}

Result<OutletId> WireCalls::call(std::string_view nnef,
                                 std::vector<nnef::CallArgument> arguments) const {
  const nnef::Naming naming{name_, true, false, {}, {}, {}};
  RILL_ASSIGN(const Value value,
              loader_.builder().call({nnef, arguments, {}}, *env_.scope, naming));
  return loader_.builder().to_wire(value, *env_.scope, name_);
}

Result<OutletId> WireCalls::moved(OutletId x, int64_t from, int64_t to) const {
  if (from == to) return x;
  std::vector<Value> axes;
  for (int64_t i = 0; i < fact(x).rank(); ++i) {
    if (i != from) axes.emplace_back(Dim(i));
  }
  axes.insert(axes.begin() + to, Value(Dim(from)));
  return call("transpose", x, "axes", std::move(axes));
}

Result<OutletId> WireCalls::joined(OutletId rows, int64_t axis) const {
  const Dim entries = fact(rows).dim(0);
  const Dim each = fact(rows).dim(static_cast<int>(axis) + 1);
  // `reshape` reads an extent of 0 as "keep the extent of the input". An empty tensor has no order
  // to preserve, so its empty axis comes first, where the 0 finds it.
  RILL_ASSIGN(const OutletId x, moved(rows, 0, each == Dim(0) ? axis + 1 : axis));
  // `squeeze` preserves a streaming axis.
  if (each == Dim(1)) return call("squeeze", x, "axes", {Dim(axis + 1)});
  std::vector<nnef::CallArgument> arguments(4);
  arguments[0] = {"input", nullptr, Value(x)};
  arguments[1] = {"shape", nullptr, Value(std::vector<Value>{entries * each})};
  arguments[2] = {"axis_start", nullptr, Value(Dim(axis))};
  arguments[3] = {"axis_count", nullptr, Value(Dim(2))};
  return call("reshape", std::move(arguments));
}

Result<std::vector<OutletId>> WireCalls::read(std::string_view op, int64_t version,
                                              const std::vector<OutletId>& wires,
                                              std::optional<int64_t> axis) const {
  // From opset 13 on, an attribute of `Split` and similar operators is an input.
  constexpr int64_t kOldest = 13;
  NodeProto node;
  node.op_type = op;
  if (axis) {
    node.attributes.resize(1);
    node.attributes[0].name = "axis";
    node.attributes[0].type = AttributeProto::Type::kInt;
    node.attributes[0].i = *axis;
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < wires.size(); ++i) names.push_back(str_cat(name_, "_wire_", i));
  for (size_t i = 0; i < wires.size(); ++i) {
    node.inputs.emplace_back(names[i]);
    env_.values[names[i]] = wires[i];
  }
  auto out = loader_.read_node(node, std::max(version, kOldest), name_, &env_);
  for (const std::string& name : names) env_.values.erase(name);
  return out;
}

Result<OutletId> WireCalls::constant(Tensor value) const {
  return loader_.add_const(name_, std::make_shared<const Tensor>(std::move(value)), &env_);
}

}  // namespace rill::onnx
