#include "ops/rnn/onnx_cell.h"

#include <algorithm>

#include "ops/math/binary.h"
#include "ops/math/select.h"
#include "ops/math/unary.h"
#include "ops/nn/einsum.h"
#include "ops/quant/own_range.h"

namespace rill::ops {
namespace {

struct Known {
  std::string_view name;
  float alpha;
  float beta;
};
// The functions, and the defaults of their parameters.
constexpr Known kKnown[] = {
    {"Relu", 0, 0},        {"Tanh", 0, 0},         {"Sigmoid", 0, 0},
    {"Affine", 1, 0},      {"LeakyRelu", 0.01F, 0}, {"ThresholdedRelu", 1, 0},
    {"ScaledTanh", 1, 1},  {"HardSigmoid", 0.2F, 0.5F}, {"Elu", 1, 0},
    {"Softsign", 0, 0},    {"Softplus", 0, 0},
};

bool same_word(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  const auto same = [&](char x, char y) { return lower(x) == lower(y); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

bool takes_alpha(std::string_view name) {
  return name != "Relu" && name != "Tanh" && name != "Sigmoid" && name != "Softsign" &&
         name != "Softplus";
}
bool takes_beta(std::string_view name) {
  return name == "Affine" || name == "ScaledTanh" || name == "HardSigmoid";
}

/// Writes the body of a cell. The first failure sticks.
class Cell {
 public:
  Cell(const CellForm& form, int64_t first_activation, const Facts& inputs)
      : form_(form), first_(static_cast<size_t>(first_activation)) {
    for (const Fact& fact : inputs) {
      in_.push_back(graph_.add_source(graph_.unique_name("x"), fact));
    }
    type_ = inputs[0].dtype;
  }

  OutletId in(size_t index) const { return in_[index]; }
  OutletId node(OpPtr op, WireList inputs) {
    if (!status_.ok()) return {};
    const std::string_view name = op->name();
    auto outs = graph_.add_folded(graph_.unique_name(name), std::move(op), inputs);
    if (outs.ok()) return (*outs)[0];
    status_ = outs.take_status();
    return {};
  }
  OutletId number(float value) {
    auto typed = cast(Tensor::scalar(value), type_);
    auto shaped = typed.ok() ? typed->reshaped({1, 1, 1}) : std::move(typed);
    if (!shaped.ok()) return {};
    return graph_.add_const(graph_.unique_name("number"),
                            std::make_shared<const Tensor>(std::move(shaped).value()));
  }
  OutletId number(double value, OutletId) { return number(static_cast<float>(value)); }
  OutletId reduce(ReduceKind kind, OutletId x, std::vector<int64_t> axes) {
    return node(make_op<Reduce>(kind, std::move(axes)), {x});
  }
  OutletId select(OutletId condition, OutletId then, OutletId otherwise) {
    return node(make_op<Select>(), {condition, then, otherwise});
  }
  OutletId unary(UnaryKind kind, OutletId x, float alpha = 0.0F) {
    return node(make_op<Unary>(kind, alpha), {x});
  }
  OutletId binary(BinaryKind kind, OutletId a, OutletId b) {
    return node(make_op<Binary>(kind), {a, b});
  }
  OutletId sum(OutletId a, OutletId b) { return binary(BinaryKind::kAdd, a, b); }
  OutletId times(OutletId a, OutletId b) { return binary(BinaryKind::kMul, a, b); }
  OutletId complement(OutletId x) { return binary(BinaryKind::kSub, number(1.0F), x); }
  /// Return the product of the state with a filter.
  OutletId product(OutletId h, OutletId filter) {
    auto op = draft_op<EinSum>();
    op->expr = "abk,ok->abo";
    return node(std::move(op), {h, filter});
  }
  OutletId clipped(OutletId x) {
    if (form_.clip <= 0) return x;
    return binary(BinaryKind::kMin, binary(BinaryKind::kMax, x, number(-form_.clip)),
                  number(form_.clip));
  }
  /// Apply the activation of that index to a clipped sum.
  OutletId act(size_t index, OutletId x) { return plain_act(index, clipped(x)); }
  /// As above, for a state, which is not clipped: onnxruntime clips only sums.
  OutletId plain_act(size_t index, OutletId x);

  Result<Graph> done(std::vector<OutletId> outputs) && {
    RILL_TRY(std::move(status_));
    for (size_t i = 0; i < outputs.size(); ++i) {
      graph_.add_output(i == 0 ? "h_next" : "c_next", outputs[i]);
    }
    return std::move(graph_);
  }

 private:
  const CellForm& form_;
  size_t first_;
  Graph graph_;
  Status status_;
  std::vector<OutletId> in_;
  DType type_ = DType::kF32;
};

OutletId Cell::plain_act(size_t index, OutletId x) {
  const Activation& a = form_.activations[first_ + index];
  if (a.name == "Tanh") return unary(UnaryKind::kTanh, x);
  if (a.name == "Sigmoid") return unary(UnaryKind::kSigmoid, x);
  if (a.name == "Relu") return binary(BinaryKind::kMax, x, number(0.0F));
  if (a.name == "LeakyRelu") return unary(UnaryKind::kLeakyRelu, x, a.alpha);
  if (a.name == "Affine") return sum(times(x, number(a.alpha)), number(a.beta));
  if (a.name == "ScaledTanh") {
    return times(unary(UnaryKind::kTanh, times(x, number(a.beta))), number(a.alpha));
  }
  if (a.name == "HardSigmoid") {
    const OutletId line = sum(times(x, number(a.alpha)), number(a.beta));
    return binary(BinaryKind::kMin, binary(BinaryKind::kMax, line, number(0.0F)), number(1.0F));
  }
  const OutletId above = binary(BinaryKind::kMax, x, number(0.0F));
  if (a.name == "Softsign") {
    return binary(BinaryKind::kDiv, x, sum(unary(UnaryKind::kAbs, x), number(1.0F)));
  }
  if (a.name == "Softplus") {
    // Without overflow: max(x, 0) + ln(1 + exp(-|x|)).
    const OutletId below = unary(UnaryKind::kNeg, unary(UnaryKind::kAbs, x));
    const OutletId falling = unary(UnaryKind::kExp, below);
    return sum(above, unary(UnaryKind::kLn, sum(falling, number(1.0F))));
  }
  if (a.name == "Elu") {
    const OutletId below = binary(BinaryKind::kMin, x, number(0.0F));
    const OutletId curve = binary(BinaryKind::kSub, unary(UnaryKind::kExp, below), number(1.0F));
    return sum(above, times(curve, number(a.alpha)));
  }
  // ThresholdedRelu: keeps values above alpha.
  const OutletId kept = binary(BinaryKind::kGt, x, number(a.alpha));
  return select(kept, x, number(0.0F));
}

Result<Graph> lstm(Cell cell, const CellForm& form, bool peepholes) {
  const size_t peep = form.quantised ? 12 : 8;
  const size_t states = peepholes ? peep + 3 : peep;
  const OutletId h = cell.in(states);
  const OutletId c = cell.in(states + 1);
  OwnRange range;
  OutletId seen = h;
  if (form.quantised) {
    range = in_own_range(cell, h, {0, 1, 2});
    seen = cell.binary(BinaryKind::kSub, range.values, range.point);
  }
  const auto gate = [&](size_t index) {
    OutletId product = cell.product(seen, cell.in(4 + index));
    if (form.quantised) {
      product = cell.times(product, cell.times(range.scale, cell.in(8 + index)));
    }
    return cell.sum(cell.in(index), product);
  };
  const auto with_peephole = [&](OutletId x, size_t index, OutletId past) {
    return peepholes ? cell.sum(x, cell.times(cell.in(peep + index), past)) : x;
  };
  // Peepholes have the order i, o, f.
  const OutletId i = cell.act(0, with_peephole(gate(0), 0, c));
  const OutletId f =
      form.input_forget ? cell.complement(i) : cell.act(0, with_peephole(gate(2), 2, c));
  const OutletId g = cell.act(1, gate(3));
  const OutletId c_next = cell.sum(cell.times(f, c), cell.times(i, g));
  const OutletId o = cell.act(0, with_peephole(gate(1), 1, c_next));
  const OutletId h_next = cell.times(o, cell.plain_act(2, c_next));
  return std::move(cell).done({h_next, c_next});
}

Result<Graph> gru(Cell cell, const CellForm& form) {
  const bool late = form.linear_before_reset;
  const OutletId h = cell.in(late ? 7 : 6);
  const auto gate = [&](size_t index) {
    return cell.act(0, cell.sum(cell.in(index), cell.product(h, cell.in(3 + index))));
  };
  const OutletId z = gate(0);
  const OutletId r = gate(1);
  const OutletId past =
      late ? cell.times(r, cell.sum(cell.product(h, cell.in(5)), cell.in(6)))
           : cell.product(cell.times(r, h), cell.in(5));
  const OutletId fresh = cell.act(1, cell.sum(cell.in(2), past));
  const OutletId next = cell.sum(cell.times(cell.complement(z), fresh), cell.times(z, h));
  return std::move(cell).done({next});
}

}  // namespace

std::string_view cell_name(CellKind kind) {
  return kind == CellKind::kLstm ? "LSTM" : kind == CellKind::kGru ? "GRU" : "RNN";
}

Result<CellForm> cell_form(OnnxCtx& ctx, CellKind kind, int64_t directions) {
  CellForm form;
  const int64_t functions = kind == CellKind::kLstm ? 3 : kind == CellKind::kGru ? 2 : 1;
  RILL_ASSIGN(const Value names, ctx.value("activations"));
  RILL_ASSIGN(const Value alphas, ctx.value("activation_alpha"));
  RILL_ASSIGN(const Value betas, ctx.value("activation_beta"));
  const auto& list = *names.get<std::vector<Value>>();
  const auto count = static_cast<size_t>(functions * directions);
  const bool given = ctx.given("activations");
  if (given && list.size() != count) {
    return fail(Code::kArg, "attribute \"activations\" has ",
                counted(list.size(), "entry", "entries"), ", expected ", count);
  }
  size_t alpha = 0;
  size_t beta = 0;
  for (size_t i = 0; i < count; ++i) {
    const auto& name = *list[given ? i : i % static_cast<size_t>(functions)].get<std::string>();
    const auto* known =
        std::find_if(std::begin(kKnown), std::end(kKnown),
                     [&](const Known& each) { return same_word(each.name, name); });
    if (known == std::end(kKnown)) {
      return fail(Code::kUnsupported, "attribute \"activations\": no function \"", name, "\"");
    }
    Activation out{std::string(known->name), known->alpha, known->beta};
    const auto& a = *alphas.get<std::vector<Value>>();
    const auto& b = *betas.get<std::vector<Value>>();
    if (takes_alpha(out.name) && alpha < a.size()) out.alpha = *a[alpha++].get<float>();
    if (takes_beta(out.name) && beta < b.size()) out.beta = *b[beta++].get<float>();
    form.activations.push_back(std::move(out));
  }
  RILL_ASSIGN(form.clip, ctx.number("clip"));
  if (ctx.has("input_forget")) {
    RILL_ASSIGN(form.input_forget, ctx.boolean("input_forget"));
  }
  if (ctx.has("linear_before_reset")) {
    RILL_ASSIGN(form.linear_before_reset, ctx.boolean("linear_before_reset"));
  }
  return form;
}

Result<Graph> cell_body(CellKind kind, const CellForm& form, int64_t direction, bool peepholes,
                        const Facts& inputs) {
  const auto functions = static_cast<int64_t>(form.activations.size());
  const int64_t each = kind == CellKind::kLstm ? 3 : kind == CellKind::kGru ? 2 : 1;
  Cell cell(form, std::min(direction * each, functions - each), inputs);
  if (kind == CellKind::kLstm) return lstm(std::move(cell), form, peepholes);
  if (kind == CellKind::kGru) return gru(std::move(cell), form);
  const OutletId next = cell.act(0, cell.sum(cell.in(0), cell.product(cell.in(2), cell.in(1))));
  return std::move(cell).done({next});
}

}  // namespace rill::ops
