// Inputs and outputs of the model: types, extents and symbols.

#include <algorithm>

#include "core/base/checked.h"
#include "core/base/search.h"
#include "core/dim/pattern.h"
#include "nnef_loader/build/names.h"
#include "onnx_loader/build/loader.h"

namespace rill::onnx {
namespace {

std::string_view kind_text(ValueInfo::Kind kind) {
  switch (kind) {
    case ValueInfo::Kind::kSequence:
      return "a sequence";
    case ValueInfo::Kind::kMap:
      return "a map";
    case ValueInfo::Kind::kOptional:
      return "an optional";
    case ValueInfo::Kind::kSparse:
      return "a sparse tensor";
    case ValueInfo::Kind::kOpaque:
      return "of an opaque type";
    default:
      return "of no type";
  }
}

Status check_tensor(const ValueInfo& info) {
  if (info.kind == ValueInfo::Kind::kTensor) return {};
  return fail(Code::kUnsupported, "\"", info.name, "\" is ", kind_text(info.kind),
              ", expected a tensor");
}

/// Convert the value that replaces an input to the input's type and rank.
Result<TensorPtr> as_declared(const Tensor& value, const ValueInfo& info) {
  RILL_TRY(check_tensor(info));
  const auto type = onnx_type(info.type);
  if (!type) {
    return fail(Code::kUnsupported, "input \"", info.name, "\" is of ", onnx_type_name(info.type));
  }
  RILL_ASSIGN(Tensor out, cast(value, *type));
  if (info.has_shape && value.shape().size() != info.shape.size()) {
    std::vector<int64_t> shape;
    for (const DimProto& dim : info.shape) {
      const bool list = info.shape.size() == 1;
      shape.push_back(dim.value && *dim.value >= 0 ? *dim.value : list ? value.volume() : 1);
    }
    auto reshaped = out.reshaped(std::move(shape));
    if (!reshaped.ok()) {
      return fail(Code::kShape, "input \"", info.name, "\" has ",
                  counted(info.shape.size(), "axis", "axes"), ", and cannot have the ",
                  value.volume(), " values that were given");
    }
    out = std::move(reshaped).value();
  }
  return std::make_shared<const Tensor>(std::move(out));
}

}  // namespace

Result<Dim> Loader::extent(const ValueInfo& info, size_t axis, Graph* graph) {
  const DimProto& dim = info.shape[axis];
  if (dim.value && *dim.value >= 0) return Dim(*dim.value);
  if (dim.param.empty() || dim.param == "?") {
    // Files omit unnamed extents, or write them as -1 or "?".
    const std::string name =
        graph->scope.fresh(str_cat(nnef::mangled(info.name), "_", static_cast<int64_t>(axis)));
    graph->scope.declare(name);
    return Dim::symbol(name);
  }
  std::string name = nnef::mangled(dim.param);
  if (name == dim.param) {
    graph->scope.declare(name);
    return Dim::symbol(name);
  }
  // PyTorch writes expressions, such as "2*s0 + 1". A text of several names, such as "batch-size",
  // is a name, unless each of them is an extent too.
  if (auto expression = parse_dim(dim.param); expression.ok() && expression->valid()) {
    std::vector<std::string> names;
    expression->collect_symbols(&names);
    const auto is_extent = [&](const std::string& each) { return extent_names_.contains(each); };
    if (names.size() < 2 || all_of(names, is_extent)) {
      for (const std::string& each : names) graph->scope.declare(each);
      return *expression;
    }
  }
  graph->scope.declare(name);
  return Dim::symbol(name);
}

Result<Fact> Loader::input_fact(const ValueInfo& info, Env* env) {
  RILL_TRY(check_tensor(info));
  Graph& graph = env->graph();
  const auto type = onnx_type(info.type);
  if (!type || *type == DType::kString) {
    return fail(Code::kUnsupported, "input \"", info.name, "\" is of ", onnx_type_name(info.type),
                ", which rill does not run");
  }
  Fact fact = Fact::of(*type, {});
  const std::vector<Dim>* given = nullptr;
  for (const auto& [name, shape] : options_.input_shapes) {
    if (name == info.name) given = &shape;
  }
  if (given && info.has_shape && given->size() != info.shape.size()) {
    return fail(Code::kArg, "the shape given for input \"", info.name, "\" has rank ",
                given->size(), ", the file's has rank ", info.shape.size());
  }
  if (!given && !info.has_shape) {
    return fail(Code::kShape, "input \"", info.name, "\" has no shape, not even a rank")
        .hint(str_cat("Give its shape: -i ", info.name, ":1,16000,f32"));
  }
  if (given) {
    for (const Dim& extent : *given) {
      std::vector<std::string> names;
      extent.collect_symbols(&names);
      for (const std::string& name : names) graph.scope.declare(name);
    }
    fact.shape = *given;
  } else {
    for (size_t axis = 0; axis < info.shape.size(); ++axis) {
      RILL_ASSIGN(Dim dim, extent(info, axis, &graph));
      fact.shape.push_back(std::move(dim));
    }
  }
  std::vector<int64_t> numbers;
  for (Dim& dim : fact.shape) {
    for (const auto& [symbol, by] : findings_.equal) dim = dim.substitute(symbol, by);
    dim = graph.scope.simplify(dim);
    if (const auto number = dim.to_int()) numbers.push_back(*number);
  }
  if (fact.shape.size() > kMaxRank || !checked_volume(numbers)) {
    return fail(Code::kShape, "input \"", info.name, "\" is ", fact, ": expected at most ",
                kMaxRank, " axes, and elements that can be counted");
  }
  return fact;
}

namespace {

/// How often two extents are equal, over all sizes of their symbol.
enum class Equal : uint8_t { kRarely, kAtSome, kAlways };

/// Return kAlways if a difference of extents is 0 at all sizes above 0, kAtSome if at infinitely
/// many sizes: S/4 and 2*(S/8) are equal at multiples of 8.
Equal equal_where(const Dim& apart) {
  constexpr int64_t kMost = 4096;
  std::vector<std::string> names;
  apart.collect_symbols(&names);
  if (!apart.valid() || names.size() != 1) return Equal::kRarely;
  const auto pattern = DimPattern::of(apart, names[0]);
  if (!pattern.ok() || pattern->growth() != 0) return Equal::kRarely;
  const int64_t settled = std::max<int64_t>(pattern->settled(), 1);
  const int64_t end = settled + pattern->period();
  bool always = end <= kMost;
  bool some = false;
  for (int64_t n = always ? 1 : settled; n < std::min(end, settled + kMost); ++n) {
    const bool equal = apart.eval(names[0], n) == 0;
    always &= equal;
    some |= equal && n >= settled;
  }
  return always ? Equal::kAlways : some ? Equal::kAtSome : Equal::kRarely;
}

/// Return the symbol that another extent replaces if both are equal; nothing for two expressions.
std::optional<std::pair<std::string, Dim>> replacement(const Dim& left, const Dim& right) {
  const auto first = left.as_symbol();
  const auto second = right.as_symbol();
  if (second && !left.mentions(*second)) return {{*second, left}};
  if (first && !right.mentions(*first)) return {{*first, right}};
  return std::nullopt;
}

Status unequal(const Dim& left, const Dim& right) {
  return fail(Code::kShape, "extents of ", left, " and ", right, ": expected equal ones");
}

}  // namespace

Dim Loader::replaced(Dim dim, const Env& env) const {
  for (const auto& [symbol, by] : expected_) dim = dim.substitute(symbol, by);
  return env.graph().scope.simplify(dim);
}

Status Loader::take_as_equal(const Dim& a, const Dim& b, const Env& env) {
  SymbolScope& scope = env.graph().scope;
  const Dim left = scope.simplify(a);
  const Dim right = scope.simplify(b);
  if (left == right) return {};
  // Symbols that the next attempt replaces already may make both equal.
  const Dim next_left = replaced(left, env);
  const Dim next_right = replaced(right, env);
  demanded_ = replacement(next_left, next_right);
  if (!demanded_ && next_left != next_right) {
    const Equal equal = equal_where(left - right);
    if (equal == Equal::kAlways) return {};
    // The assertions of a body are not those of the model. With slices that are not clamped, the
    // next attempt has simpler extents.
    const bool meets = equal == Equal::kAtSome && !env.outer;
    may_meet_ |= meets && has_clamped();
    if (meets && (findings_.meets || !has_clamped())) {
      return scope.assert_text(str_cat(left, " == ", right));
    }
  }
  return unequal(left, right);
}

Status Loader::expect_equal(const Dim& a, const Dim& b, const Env& env) {
  const Dim left = replaced(a, env);
  const Dim right = replaced(b, env);
  if (left == right) return {};
  if (left.is_const() && right.is_const()) return unequal(left, right);
  if (auto found = replacement(left, right)) {
    // A symbol that an earlier attempt could not replace belongs to no input.
    const auto is_it = [&](const auto& earlier) { return earlier.first == found->first; };
    if (!any_of(findings_.equal, is_it)) expected_.push_back(*std::move(found));
    return {};
  }
  if (env.scope->target != &target_ || (!left.is_const() && !right.is_const())) return {};
  return env.graph().scope.assert_text(str_cat(left, " == ", right));
}

const TensorPtr* Loader::constant_for(std::string_view input) const {
  for (const auto& [name, value] : options_.constants) {
    if (name == input) return &value;
  }
  const auto& known = findings_.known;
  if (!contains(known, input)) return nullptr;
  for (const auto& [name, value] : options_.values) {
    if (name == input) return &value;
  }
  return nullptr;
}

Status Loader::add_inputs(const GraphProto& graph, Env* env) {
  std::vector<std::string> names;
  for (const ValueInfo& info : graph.inputs) names.emplace_back(info.name);
  for (const auto& [name, value] : options_.constants) {
    if (contains(names, name)) continue;
    return fail(Code::kArg, "a value is given for \"", name, "\", which is not an input")
        .hint(str_cat("Inputs: ", join(names, ", ")));
  }
  for (const ValueInfo& info : graph.inputs) {
    if (const TensorPtr* constant = constant_for(info.name)) {
      RILL_ASSIGN(TensorPtr value, as_declared(**constant, info));
      RILL_ASSIGN(const OutletId wire, add_const(info.name, std::move(value), env));
      env->values.emplace(info.name, wire);
      continue;
    }
    // An initialiser of the same name is the input's default value.
    const auto has_its_name = [&](const TensorProto& each) { return each.name == info.name; };
    const auto& initializers = graph.initializers;
    if (any_of(initializers, has_its_name)) continue;
    RILL_ASSIGN(Fact fact, input_fact(info, env));
    nnef::Target& target = *env->scope->target;
    const OutletId wire = target.graph.add_source(target.names.claim(info.name), std::move(fact));
    if (!env->values.emplace(info.name, wire).second) {
      return fail(Code::kParse, "there are two inputs \"", info.name, "\"");
    }
    RILL_TRY(builder_.audit(&target));
  }
  return {};
}

namespace {

/// Return the name of an output: a value that the file lists twice becomes two outputs with
/// different names.
std::string name_of_output(const GraphProto& graph, std::string_view name,
                           const std::vector<std::string>& taken) {
  std::string own(name);
  const auto is_own = [&](const ValueInfo& info) { return info.name == own; };
  for (int64_t i = 1; contains(taken, own) || (own != name && any_of(graph.outputs, is_own)); ++i) {
    own = str_cat(name, "_", i);
  }
  return own;
}

}  // namespace

Status Loader::add_outputs(const GraphProto& graph, Env* env) {
  for (const ValueInfo& info : graph.outputs) {
    if (info.kind != ValueInfo::Kind::kUntyped) RILL_TRY(check_tensor(info));
    RILL_ASSIGN(OutletId wire, find(info.name, env));
    Graph& out = env->graph();
    if (out.fact(wire).konst) env->scope->target->sizes.take(&out, wire, {info.name, "output"});
    if (out.fact(wire).dtype == DType::kDim) {
      // Sizes are dims inside the graph; callers read the integers that the file declares.
      const char* const type = onnx_type(info.type) == DType::kI32 ? "i32" : "i64";
      const nnef::CallArgument arguments[] = {{"", nullptr, Value(wire)},
                                              {"to", nullptr, Value(std::string(type))}};
      RILL_ASSIGN(wire, builder_.invoke_needed("tract_core_cast", arguments, *env->scope,
                                      {str_cat(info.name, "_", type), true, false, {}, {}, {}}));
    }
    out.add_output(name_of_output(graph, info.name, out.output_names), wire);
  }
  if (env->graph().outputs.empty()) return fail(Code::kParse, "the graph has no outputs");
  return {};
}

/// Warn if a declared shape contradicts the inferred one. The inferred shape wins.
void Loader::compare(const ValueInfo& info, const Fact& fact) {
  if (info.kind != ValueInfo::Kind::kTensor) return;
  const auto type = onnx_type(info.type);
  const bool dims = fact.dtype == DType::kDim && (type == DType::kI64 || type == DType::kI32);
  bool same = !type || *type == fact.dtype || dims;
  if (info.has_shape) {
    same &= info.shape.size() == fact.shape.size();
    for (size_t axis = 0; same && axis < fact.shape.size(); ++axis) {
      const auto number = fact.shape[axis].to_int();
      const auto& stated = info.shape[axis].value;
      same = !stated || *stated < 0 || !number || *number == *stated;
    }
  }
  if (same) return;
  std::vector<std::string> stated;
  for (const DimProto& dim : info.shape) {
    stated.push_back(dim.value ? str_cat(*dim.value) : std::string(dim.param));
  }
  warn(str_cat("The file declares \"", info.name, "\" as ", join(stated, ","), " of ",
               onnx_type_name(info.type), "; rill uses ", fact, ", which the inputs imply"));
}

}  // namespace rill::onnx
