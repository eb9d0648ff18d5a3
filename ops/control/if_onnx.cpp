// Reads ONNX's If.

#include "core/graph/onnx.h"
#include "core/graph/symbols_before.h"
#include "ops/math/numpy.h"
#include "ops/math/select.h"

namespace rill::ops {
namespace {

/// The cause of an open condition, and its remedy.
struct Decides {
  std::string cause;
  std::string remedy;
};

Decides what_decides(const Graph& graph, OutletId condition) {
  const std::vector<std::string> symbols = symbols_before(graph, condition);
  if (symbols.empty()) {
    return {"data", "--constantize NAME=VALUE for the input that it depends on"};
  }
  std::string names;
  std::string sets;
  for (const std::string& symbol : symbols) {
    names += str_cat(names.empty() ? "" : " and ", symbol);
    sets += str_cat(sets.empty() ? "" : " ", "--set ", symbol, "=NUMBER");
  }
  return {names, str_cat(sets, ", or --assert a range where the condition does not change, as in "
                               "--assert '", symbols[0], " >= 16'")};
}

/// Compute both branches, and select their outputs by a condition that is open.
Result<Value> select_branches(OnnxCtx& ctx, OutletId condition, const std::vector<OutletId>& then,
                              const std::vector<OutletId>& otherwise) {
  std::vector<Value> out;
  for (size_t i = 0; i < then.size(); ++i) {
    const Fact& a = ctx.fact(then[i]);
    const Fact& b = ctx.fact(otherwise[i]);
    if (!a.same_type(b)) {
      const Decides decides = what_decides(ctx.graph(), condition);
      return fail(Code::kUnsupported, "the branches give ", a, " and ", b,
                  ", and which one runs depends on ", decides.cause)
          .hint(str_cat("Decide it: ", decides.remedy));
    }
    RILL_ASSIGN(const OutletId truth, with_rank(ctx, condition, a.rank()));
    RILL_ASSIGN(const OutletId wire, ctx.add1(make_op<Select>(), {truth, then[i], otherwise[i]}));
    out.emplace_back(wire);
  }
  return Value(std::move(out));
}

/// Return the two sizes that a condition compares for equality.
std::optional<std::pair<Dim, Dim>> compared_sizes(OnnxCtx& ctx, OutletId condition) {
  const Node& node = ctx.graph().node(condition.node);
  if (node.op->name() != Binary(BinaryKind::kEq).name()) return std::nullopt;
  const TensorPtr& a = ctx.fact(node.inputs[0]).konst;
  const TensorPtr& b = ctx.fact(node.inputs[1]).konst;
  if (!a || !b || a->volume() != 1 || b->volume() != 1) return std::nullopt;
  const auto left = element_as_dim(*a, 0);
  const auto right = element_as_dim(*b, 0);
  if (!left.ok() || !right.ok()) return std::nullopt;
  return std::pair(*left, *right);
}

/// Exporters write a squeeze under a condition for axes that may have extent 1: downstream nodes
/// then fit one of the two ranks. Assume that extent, and assert it.
Result<std::optional<Value>> presumed_squeeze(OnnxCtx& ctx, OutletId condition,
                                              const std::vector<OutletId>& then,
                                              const std::vector<OutletId>& otherwise) {
  const auto sizes = compared_sizes(ctx, condition);
  if (!sizes || !(sizes->second == Dim(1) || sizes->first == Dim(1))) return {std::nullopt};
  for (size_t i = 0; i < then.size(); ++i) {
    if (ctx.fact(then[i]).rank() >= ctx.fact(otherwise[i]).rank()) return {std::nullopt};
  }
  const Dim& size = sizes->second == Dim(1) ? sizes->first : sizes->second;
  RILL_TRY(ctx.graph().scope.assert_text(str_cat(size, " == 1")));
  return {Value::of_wires(then)};
}

/// Return the assertions after the first `from`, as text.
std::string asserted(OnnxCtx& ctx, size_t from) {
  std::string out;
  const auto& all = ctx.graph().scope.assertions();
  for (size_t i = from; i < all.size(); ++i) {
    out += str_cat(out.empty() ? "" : " and ", all[i].text);
  }
  return out;
}

Result<Value> conditional(OnnxCtx& ctx) {
  RILL_ASSIGN(const OutletId condition, ctx.wire("cond"));
  const Fact fact = ctx.fact(condition);
  RILL_CHECK(fact.dtype == DType::kBool && volume(fact.shape) == Dim(1), "the condition is ", fact,
             ", expected one bool");
  if (fact.konst) {
    const bool truth = fact.konst->values<bool>()[0];
    RILL_ASSIGN(const std::vector<OutletId> outlets,
                ctx.branch(truth ? "then_branch" : "else_branch"));
    return Value::of_wires(outlets);
  }
  const auto decide = [&](Status status) {
    const Decides by = what_decides(ctx.graph(), condition);
    return std::move(status).hint(str_cat("Which branch runs depends on ", by.cause,
                                          ", so that both have to. Decide it: ", by.remedy));
  };
  const size_t before = ctx.graph().scope.assertions().size();
  auto then = ctx.branch("then_branch");
  if (!then.ok()) return decide(then.take_status());
  const size_t between = ctx.graph().scope.assertions().size();
  const std::string then_asserts = asserted(ctx, before);
  auto otherwise = ctx.branch("else_branch");
  if (!otherwise.ok()) return decide(otherwise.take_status());
  const std::string other_asserts = asserted(ctx, between);
  // Silero's branches are models of two sample rates, and no sizes fit both.
  if (!then_asserts.empty() && !other_asserts.empty() && then_asserts != other_asserts) {
    return decide(fail(Code::kUnsupported, "one branch is for ", then_asserts, ", the other for ",
                       other_asserts));
  }
  RILL_CHECK(then->size() == otherwise->size(), "the branches have ", then->size(), " and ",
             counted(otherwise->size(), "output"));
  RILL_ASSIGN(std::optional<Value> presumed, presumed_squeeze(ctx, condition, *then, *otherwise));
  if (presumed) return std::move(*presumed);
  OutletId scalar = condition;
  while (ctx.fact(scalar).rank() > 0) {
    RILL_ASSIGN(scalar, ctx.call1("squeeze", {{"input", Value(scalar)},
                                              {"axes", Value(std::vector<Value>{Value(Dim(0))})}}));
  }
  return select_branches(ctx, scalar, *then, *otherwise);
}

const OnnxOp kOps[] = {
    {"", 1, "fragment If(cond: tensor<logical>, else_branch: ?, then_branch: ?) "
            "-> (outputs: tensor<?>[]);",
     conditional},
};

}  // namespace

extern const OnnxModule if_onnx;
const OnnxModule if_onnx = {"if", kOps};

}  // namespace rill::ops
