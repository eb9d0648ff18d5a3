// Sizes of the file that are computed from lengths: their values where wires are empty.

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/search.h"
#include "onnx_loader/build/loader.h"

namespace rill::onnx {
namespace {

/// Return a bound of the magnitude of an expression in lengths of up to 2^30.
double magnitude(const Dim& dim) {
  constexpr double kLongest = 1 << 30;
  if (const auto number = dim.to_int()) return std::abs(static_cast<double>(*number));
  double total = std::abs(static_cast<double>(dim.sum()->constant));
  for (const DimTerm& term : dim.sum()->terms) {
    double product = std::abs(static_cast<double>(term.coefficient));
    for (const auto& factor : term.factors) {
      double most = 0;
      for (const Dim& arg : factor->args) most = std::max(most, magnitude(arg));
      if (factor->kind == DimAtom::Kind::kSymbol) most = kLongest;
      if (factor->kind == DimAtom::Kind::kGe || factor->kind == DimAtom::Kind::kEq) most = 1;
      product *= most / static_cast<double>(factor->divisor);
    }
    total += product;
  }
  return total;
}

/// Return a number as 32 bits hold it.
Dim wrapped(const Dim& number) {
  constexpr int64_t kRange = int64_t{1} << 32;
  return number - Dim(kRange) * floor_div(number + Dim(kRange / 2), kRange);
}

bool has_graph(const NodeProto& node) {
  return any_of(node.attributes, [](const AttributeProto& attribute) {
    return attribute.type == AttributeProto::Type::kGraph;
  });
}

}  // namespace

Result<Value> Loader::call_beside(const NodeCalled& called, const Env& env, nnef::Target* beside,
                                  const std::map<OutletId, OutletId>& moves) {
  std::vector<nnef::CallArgument> arguments = called.arguments;
  for (nnef::CallArgument& each : arguments) each.value = nnef::moved(each.value, moves);
  nnef::Scope scope;
  scope.target = beside;
  Env own;
  own.scope = &scope;
  own.opsets = env.opsets;
  own.attributes = env.attributes;
  own.prefix = env.prefix;
  own.depth = env.depth;
  // This call is not part of the file, so its demands must not affect the next attempt.
  const auto demanded = demanded_;
  const bool clamped = clamped_;
  auto outlets = call_node(
      {called.node, called.version, called.name, called.callee, std::move(arguments)}, &own);
  demanded_ = demanded;
  clamped_ = clamped;
  if (!outlets.ok()) return outlets.take_status();
  return Value::of_wires(*outlets);
}

bool Loader::is_of_32_bits(const NodeCalled& called, std::span<const OutletId> wires,
                           const Env& env) const {
  if (const AttributeProto* const to = called.node.attribute("to")) {
    return onnx_type(to->i) == DType::kI32;
  }
  for (const OutletId wire : wires) {
    const Fact& fact = env.graph().fact(wire);
    if (!fact.konst || is_float(fact.dtype) || fact.dtype == DType::kBool) continue;
    if (fact.dtype != DType::kDim) return fact.dtype == DType::kI32;
    if (env.scope->target->sizes.is_of_32_bits(wire)) return true;
    const auto dims = fact.konst->values<Dim>();
    if (any_of(dims, [](const Dim& dim) { return magnitude(dim) > 1; })) return false;
  }
  return false;
}

Status Loader::keep_32_bits(const NodeCalled& called, std::span<const OutletId> wires,
                            std::vector<OutletId>* outlets, Env* env) {
  Graph& graph = env->graph();
  const auto is_size = [&](OutletId wire) {
    return wire.valid() && graph.fact(wire).konst && graph.fact(wire).dtype == DType::kDim;
  };
  if (none_of(*outlets, is_size)) return {};
  const bool narrow = is_of_32_bits(called, wires, *env);
  nnef::RealSizes& sizes = env->scope->target->sizes;
  for (OutletId& outlet : *outlets) {
    if (!is_size(outlet) || narrow == sizes.is_of_32_bits(outlet)) continue;
    if (std::find(wires.begin(), wires.end(), outlet) != wires.end()) {
      const TensorPtr real = sizes.value(outlet);
      RILL_ASSIGN(outlet, add_const(called.name, graph.fact(outlet).konst, env));
      if (real) sizes.set_value(graph, outlet, real);
    }
    if (!narrow) continue;
    sizes.set_32_bits(outlet);
    for (const Dim& number : graph.fact(outlet).konst->values<Dim>()) {
      if (magnitude(number) <= INT32_MAX) continue;
      graph.scope.take_number({number, wrapped(number), called.name,
                               std::string(called.node.op_type)});
    }
  }
  return {};
}

Status Loader::follow_sizes(const NodeCalled& called, std::vector<OutletId>* outlets, Env* env) {
  std::vector<OutletId> wires;
  for (const nnef::CallArgument& each : called.arguments) nnef::add_wires(each.value, &wires);
  RILL_TRY(keep_32_bits(called, wires, outlets, env));
  nnef::SizesCall call{wires, *outlets, called.name, called.node.op_type, nullptr};
  if (!has_graph(called.node)) {
    call.again = [&](nnef::Target* beside, const std::map<OutletId, OutletId>& moves) {
      return call_beside(called, *env, beside, moves);
    };
  }
  nnef::Target* const target = env->scope->target;
  const std::map<OutletId, OutletId> corrected = target->sizes.follow(target, call);
  for (OutletId& outlet : *outlets) {
    const auto at = corrected.find(outlet);
    if (at != corrected.end()) outlet = at->second;
  }
  return {};
}

void Loader::take_inputs(const NodeProto& node, const std::string& name, Env* env) {
  for (const std::string_view input : node.inputs) {
    for (Env* each = env; each; each = each->captured ? nullptr : each->outer) {
      const auto at = each->values.find(input);
      if (at == each->values.end()) continue;
      nnef::Target& target = *each->scope->target;
      target.sizes.take(&target.graph, at->second, {name, node.op_type});
      break;
    }
  }
}

}  // namespace rill::onnx
