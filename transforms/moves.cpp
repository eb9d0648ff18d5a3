#include "transforms/moves.h"

#include "core/base/search.h"
#include "core/graph/rewrite.h"
#include "ops/array/axis_ops.h"
#include "ops/math/binary.h"
#include "ops/math/reduce.h"
#include "ops/math/unary.h"
#include "ops/nn/einsum.h"

namespace rill::transforms {
namespace {

using ops::Transpose;

constexpr int kMaxRounds = 100;

using Perm = std::vector<int64_t>;

int64_t at(const Perm& perm, size_t i) { return perm[i]; }

bool is_identity(const Perm& perm) {
  for (size_t i = 0; i < perm.size(); ++i) {
    if (at(perm, i) != static_cast<int64_t>(i)) return false;
  }
  return true;
}

std::string permuted(std::string_view letters, const Perm& perm) {
  std::string out;
  for (const int64_t from : perm) out.push_back(letters[static_cast<size_t>(from)]);
  return out;
}

Perm inverse(const Perm& perm) {
  Perm out(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) {
    out[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  }
  return out;
}

std::string expr_of(const std::vector<std::string>& operands, const std::string& result) {
  return join(operands, ",") + "->" + result;
}

/// Let a matmul read its operands without transpositions: it takes any order of their axes.
Status into_product(const ops::EinSum& op, Rewrite& rewrite) {
  if (op.has_bias || op.has_residual) return {};
  std::vector<std::string> letters;
  std::vector<OutletId> inputs;
  bool any = false;
  for (int i = 0; i < static_cast<int>(op.operands); ++i) {
    letters.emplace_back(op.letters(i));
    inputs.push_back(rewrite.mapped(rewrite.input(i)));
    const auto* move = rewrite.producer_as<Transpose>(i);
    if (move == nullptr) continue;
    any = true;
    letters.back() = permuted(letters.back(), inverse(move->perm));
    inputs.back() = rewrite.mapped(rewrite.producer(i).inputs[0]);
  }
  if (!any) return {};
  auto moved = draft_op<ops::EinSum>(op);
  moved->expr = expr_of(letters, std::string(op.letters(static_cast<int>(op.operands))));
  return rewrite.replace_by(moved, inputs);
}

/// Return the matmul with its output letters in the new order; null if it has a fused bias.
OpPtr moved_product(const ops::EinSum& product, const Perm& perm) {
  if (product.has_bias || product.has_residual) return nullptr;
  std::vector<std::string> letters;
  for (int i = 0; i < static_cast<int>(product.operands); ++i) {
    letters.emplace_back(product.letters(i));
  }
  auto out = draft_op<ops::EinSum>(product);
  out->expr =
      expr_of(letters, permuted(product.letters(static_cast<int>(product.operands)), perm));
  return out;
}

/// Return the reduction of the same axes at their new places.
OpPtr moved_reduce(const ops::Reduce& reduce, const Perm& perm) {
  Perm axes;
  for (size_t i = 0; i < perm.size(); ++i) {
    const auto& reduced = reduce.reduced;
    if (contains(reduced, perm[i])) {
      axes.push_back(static_cast<int64_t>(i));
    }
  }
  return make_op<ops::Reduce>(reduce.kind_of, axes, reduce.last);
}

/// Move a transposition upstream of an operator that works in the new order.
Status past_producer(const Transpose& op, Rewrite& rewrite) {
  const Node& producer = rewrite.producer(0);
  if (is_identity(op.perm)) return rewrite.bypass(rewrite.input(0));
  if (const auto* first = rewrite.producer_as<Transpose>(0)) {
    Perm both;
    for (const int64_t from : op.perm) both.push_back(first->perm[static_cast<size_t>(from)]);
    const OutletId source = rewrite.mapped(producer.inputs[0]);
    return rewrite.replace_by(make_op<Transpose>(both), {source});
  }
  if (rewrite.uses(rewrite.input(0)) != 1) return {};
  const auto move = [&](int input) {
    return rewrite.wire1(str_cat(producer.name, ".move.", input), make_op<Transpose>(op.perm),
                         {rewrite.mapped(producer.inputs[static_cast<size_t>(input)])});
  };
  std::vector<OutletId> inputs;
  OpPtr moved;
  if (const auto* product = rewrite.producer_as<ops::EinSum>(0)) {
    moved = moved_product(*product, op.perm);
    inputs = rewrite.mapped_inputs(producer);
  } else if (const auto* reduce = rewrite.producer_as<ops::Reduce>(0)) {
    moved = moved_reduce(*reduce, op.perm);
    RILL_ASSIGN(const OutletId wire, move(0));
    inputs = {wire};
  } else if (rewrite.producer_as<ops::Unary>(0) != nullptr) {
    moved = producer.op;
    RILL_ASSIGN(const OutletId wire, move(0));
    inputs = {wire};
  } else if (rewrite.producer_as<ops::Binary>(0) != nullptr) {
    const bool simple = any_of(producer.inputs, [&](OutletId input) {
      const Op& source = *rewrite.old_graph().node(input.node).op;
      return source.as<Const>() != nullptr || source.as<Transpose>() != nullptr;
    });
    if (!simple) return {};
    moved = producer.op;
    for (int i = 0; i < 2; ++i) {
      RILL_ASSIGN(const OutletId wire, move(i));
      inputs.push_back(wire);
    }
  }
  if (!moved) return {};
  return rewrite.replace_by(moved, inputs, producer.name);
}

}  // namespace

Result<Graph> with_moves_absorbed(const Graph& graph) {
  Graph out = graph;
  for (int round = 0; round < kMaxRounds; ++round) {
    bool changed = false;
    RILL_ASSIGN(out, rewrite_once(
                         out,
                         [](const Op& op, Rewrite& rewrite) -> Status {
                           if (const auto* product = op.as<ops::EinSum>()) {
                             return into_product(*product, rewrite);
                           }
                           if (const auto* move = op.as<Transpose>()) {
                             return past_producer(*move, rewrite);
                           }
                           return {};
                         },
                         &changed));
    if (!changed) break;
  }
  return out;
}

}  // namespace rill::transforms
