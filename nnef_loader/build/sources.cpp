// The operators that the loader reads itself: inputs and weights.

#include <algorithm>

#include "core/base/checked.h"
#include "core/base/printable.h"
#include "nnef_loader/build/call.h"

namespace rill::nnef {
namespace {

Status check_extents(const std::vector<Dim>& shape) {
  if (shape.size() > kMaxRank) {
    return fail(Code::kShape, "rank ", shape.size(), ": at most ", kMaxRank, " axes");
  }
  std::vector<int64_t> numbers;
  for (const Dim& extent : shape) {
    if (!extent.valid()) return fail(Code::kShape, "an extent is out of range");
    if (const auto number = extent.to_int()) numbers.push_back(*number);
  }
  if (!checked_volume(numbers)) {
    return fail(Code::kShape, "shape ", shape, " has a negative extent, or too many elements");
  }
  return {};
}

/// Replace the file's shape by that of the caller of `load`.
Status override_shape(const LoadOptions& options, std::string_view name, std::vector<Dim>* shape,
                      SymbolScope* symbols) {
  for (const auto& [input, given] : options.input_shapes) {
    if (input != name) continue;
    if (given.size() != shape->size()) {
      return fail(Code::kArg, "the shape given for input \"", name, "\" has rank ", given.size(),
                  ", the file's has rank ", shape->size());
    }
    for (const Dim& extent : given) {
      std::vector<std::string> names;
      extent.collect_symbols(&names);
      for (const std::string& symbol : names) symbols->declare(symbol);
    }
    *shape = given;
  }
  return {};
}

Result<Value> add_input(CallCtx& ctx, Fact fact) {
  if (!ctx.scope().is_graph_body && !ctx.scope().is_inlined) {
    return fail(Code::kParse,
                "inputs are declared in the body of the graph, not in the body of a loop");
  }
  RILL_ASSIGN(fact.shape, ctx.dims("shape"));
  if (const auto type = ctx.quant(0)) {
    fact.dtype = type->dtype;
    fact.q = type->q;
  }
  Graph& graph = ctx.graph();
  const std::string name = ctx.claim_name("");
  RILL_TRY(override_shape(ctx.builder().options(), name, &fact.shape, &graph.scope));
  for (Dim& extent : fact.shape) extent = graph.scope.simplify(extent);
  RILL_TRY(check_extents(fact.shape));
  return Value(graph.add_source(name, std::move(fact), ctx.line()));
}

Result<Value> load_external(LoadCtx& ctx) {
  const std::string_view generic = ctx.generic();
  Fact fact;
  if (generic == "integer") {
    fact.dtype = DType::kI64;
  } else if (generic == "logical") {
    fact.dtype = DType::kBool;
  } else if (!generic.empty() && generic != "scalar") {
    return fail(Code::kUnsupported, "external<", generic, "> is not supported")
        .hint("Use external<scalar>, <integer> or <logical>, or tract_core_external");
  }
  return add_input(static_cast<CallCtx&>(ctx), std::move(fact));
}

Result<Value> load_core_external(LoadCtx& ctx) {
  RILL_ASSIGN(const std::string text, ctx.text("datum_type"));
  RILL_ASSIGN(const NamedType type, type_from_text(text));
  Fact fact;
  fact.dtype = type.dtype;
  fact.q = type.q;
  return add_input(static_cast<CallCtx&>(ctx), std::move(fact));
}

template <class From, class To>
Tensor clamped(const Tensor& from, Tensor to, int low, int high) {
  for (int64_t i = 0; i < from.volume(); ++i) {
    const int value = from.data<From>()[i];
    to.mutable_data<To>()[i] = static_cast<To>(std::clamp(value, low, high));
  }
  return to;
}

/// Convert a stored tensor to the type of graph.quant: the same bytes, or clamped if the signedness
/// differs.
Result<Tensor> as_quantised(const Tensor& tensor, const LoadCtx::QuantType& type) {
  const DType from = tensor.dtype();
  const DType to = type.dtype;
  if (from == to && !is_quantised(to)) return tensor;
  if (tensor.block_format() == BlockFormat::kNone && dtype_size(from) == dtype_size(to)) {
    const bool from_unsigned = from == DType::kU8 || from == DType::kQU8;
    const bool from_signed = from == DType::kI8 || from == DType::kQI8;
    const bool same = (to == DType::kQU8 && from_unsigned) || (to == DType::kQI8 && from_signed) ||
                      (to == DType::kQI32 && (from == DType::kI32 || from == DType::kQI32)) ||
                      (to == DType::kU32 && from == DType::kI32);
    if (same) return tensor.reinterpreted(to, type.q);
    if ((to == DType::kQU8 && from_signed) || (to == DType::kQI8 && from_unsigned)) {
      RILL_ASSIGN(Tensor out, Tensor::zeros(to, tensor.shape(), type.q));
      if (from_signed) return clamped<int8_t, uint8_t>(tensor, std::move(out), 0, 255);
      return clamped<uint8_t, int8_t>(tensor, std::move(out), -128, 127);
    }
  }
  return fail(Code::kDType, "graph.quant says ", dtype_name(to), ", the file holds ",
              dtype_name(from));
}

Status check_shape(const Tensor& tensor, const std::vector<int64_t>& shape,
                   std::string_view label) {
  if (tensor.shape() == shape) return {};
  return fail(Code::kShape, "Wrong shape for tensor \"", label, "\": the file says ",
              tensor.shape(), ", the attribute ", shape);
}

Result<Value> load_variable(LoadCtx& base) {
  auto& ctx = static_cast<CallCtx&>(base);
  RILL_ASSIGN(const std::string label, ctx.text("label"));
  RILL_ASSIGN(const std::vector<int64_t> shape, ctx.integers("shape"));
  auto found = ctx.resource(label);
  if (!found.ok()) {
    // Report the place of the statement; the message names the tensor's file.
    Status status = found.take_status();
    Error& error = status.error();
    if (!error.file.empty()) {
      error.message = str_cat(printable(error.file), ": ", error.message);
      error.file.clear();
      error.line = 0;
      error.column = 0;
    }
    return status;
  }
  TensorPtr tensor = std::move(found).value();
  if (tensor->block_format() != BlockFormat::kNone && tensor->shape() != shape) {
    // Some writers flatten block-quantised weights to two axes.
    RILL_TRY(check_extents({shape.begin(), shape.end()}));
    auto reshaped = tensor->reshaped(shape);
    if (!reshaped.ok()) return check_shape(*tensor, shape, label);
    tensor = std::make_shared<const Tensor>(std::move(reshaped).value());
  }
  RILL_TRY(check_shape(*tensor, shape, label));
  if (const auto type = ctx.quant(0)) {
    auto converted = as_quantised(*tensor, *type);
    if (!converted.ok()) return std::move(converted).take_status();
    tensor = std::make_shared<const Tensor>(std::move(converted).value());
  }
  Target& target = *ctx.scope().target;
  const OutletId wire = target.graph.add_const(ctx.claim_name(""), std::move(tensor), ctx.line());
  return as_value(wire);
}

constexpr NnefOp kOps[] = {
    {"tract_nnef", "fragment external<? = scalar>(shape: integer[]) -> (output: tensor<?>);",
     load_external},
    {"tract_core",
     "fragment tract_core_external(datum_type: string, shape: integer[]) -> (output: tensor<?>);",
     load_core_external},
    {"tract_nnef",
     "fragment variable<? = scalar>(shape: integer[], label: string) -> (output: tensor<?>);",
     load_variable},
};

constexpr OpModule kRoom = {"sources", kOps};

}  // namespace

const OpModule& source_module() { return kRoom; }

}  // namespace rill::nnef
