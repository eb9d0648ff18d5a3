#include "ops/rnn/recognise.h"

#include <algorithm>

#include "ops/control/scan.h"
#include "ops/math/binary.h"
#include "ops/math/unary.h"
#include "ops/nn/einsum.h"
#include "ops/rnn/recurrent.h"

namespace rill::ops {
namespace {

using Kind = Scan::Input::Kind;

/// Matches a loop's body as expressions.
class Body {
 public:
  explicit Body(const Graph& graph) : graph_(graph) {}

  /// Return the index of the body input for an outlet; -1 if it is computed.
  int input(OutletId outlet) const {
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      if (graph_.inputs[i] == outlet) return static_cast<int>(i);
    }
    return -1;
  }
  bool unary(OutletId outlet, UnaryKind kind, OutletId* of) const {
    const Node& node = graph_.node(outlet.node);
    const auto* op = node.op->as<Unary>();
    if (!op || op->kind_of != kind) return false;
    *of = node.inputs[0];
    return true;
  }
  bool binary(OutletId outlet, BinaryKind kind, OutletId* a, OutletId* b) const {
    const Node& node = graph_.node(outlet.node);
    const auto* op = node.op->as<Binary>();
    if (!op || op->kind_of != kind) return false;
    *a = node.inputs[0];
    *b = node.inputs[1];
    return true;
  }
  bool uniform(OutletId outlet, float value) const {
    const auto found = uniform_f32(graph_.fact(outlet));
    return found && *found == value;
  }
  const EinSum* einsum(OutletId outlet) const {
    return graph_.node(outlet.node).op->as<EinSum>();
  }
  /// Match h W^T, W a body input: return the indices of h and W.
  bool product(OutletId outlet, int* state, int* filter) const {
    const Node& node = graph_.node(outlet.node);
    const EinSum* op = einsum(outlet);
    if (!op || op->operands != 2 || op->has_bias || op->has_residual || op->clip.on) return false;
    const int a = input(node.inputs[0]);
    const int b = input(node.inputs[1]);
    if (a < 0 || b < 0) return false;
    const std::string_view la = op->letters(0);
    const std::string_view lb = op->letters(1);
    const std::string_view out = op->letters(2);
    // State [.., k] times filter [.., o, k], whose leading axes are unit axes, gives [.., o].
    if (la.size() != out.size() || lb.size() < 2 || la.empty()) return false;
    const char k = la.back();
    const char o = out.back();
    if (lb.back() != k || lb[lb.size() - 2] != o ||
        la.substr(0, la.size() - 1) != out.substr(0, out.size() - 1)) {
      return false;
    }
    const Fact& filter_fact = graph_.fact(node.inputs[1]);
    for (int axis = 0; axis + 2 < filter_fact.rank(); ++axis) {
      if (!(filter_fact.dim(axis) == Dim(1))) return false;
    }
    *state = a;
    *filter = b;
    return true;
  }
  /// Match x + h W^T, in either order.
  bool projected(OutletId outlet, int* x, int* state, int* filter) const {
    OutletId a;
    OutletId b;
    if (!binary(outlet, BinaryKind::kAdd, &a, &b)) return false;
    for (int iteration = 0; iteration < 2; ++iteration, std::swap(a, b)) {
      *x = input(a);
      if (*x >= 0 && product(b, state, filter)) return true;
    }
    return false;
  }
  bool gate(OutletId outlet, UnaryKind activation, int* x, int* state, int* filter) const {
    OutletId of;
    return unary(outlet, activation, &of) && projected(of, x, state, filter);
  }

 private:
  const Graph& graph_;
};

/// A recognised layer; numbers are indices of body inputs.
struct Match {
  Recurrent::Cell cell = Recurrent::Cell::kGru;
  std::vector<int> x;
  std::vector<int> filters;
  int bias = -1;
  int h = -1;
  int c = -1;
};

bool match_plain(const Body& body, OutletId h_next, Match* match) {
  int x = -1;
  int filter = -1;
  OutletId of;
  OutletId zero;
  if (body.unary(h_next, UnaryKind::kTanh, &of)) {
    match->cell = Recurrent::Cell::kTanh;
  } else if (body.binary(h_next, BinaryKind::kMax, &of, &zero)) {
    if (body.uniform(of, 0.0F)) std::swap(of, zero);
    if (!body.uniform(zero, 0.0F)) return false;
    match->cell = Recurrent::Cell::kRelu;
  } else {
    return false;
  }
  if (!body.projected(of, &x, &match->h, &filter)) return false;
  match->x = {x};
  match->filters = {filter};
  return true;
}

/// Match n = tanh(x_n + r * (h W_n + b)), with or without b.
bool match_new_gate(const Body& body, OutletId n, Match* match) {
  OutletId sum;
  OutletId a;
  OutletId b;
  if (!body.unary(n, UnaryKind::kTanh, &sum) || !body.binary(sum, BinaryKind::kAdd, &a, &b)) {
    return false;
  }
  if (body.input(a) < 0) std::swap(a, b);
  const int x_n = body.input(a);
  OutletId r;
  OutletId hidden;
  if (x_n < 0 || !body.binary(b, BinaryKind::kMul, &r, &hidden)) return false;
  int x_r = -1;
  int state = -1;
  int filter_r = -1;
  if (!body.gate(r, UnaryKind::kSigmoid, &x_r, &state, &filter_r)) {
    std::swap(r, hidden);
    if (!body.gate(r, UnaryKind::kSigmoid, &x_r, &state, &filter_r)) return false;
  }
  if (state != match->h) return false;
  int filter_n = -1;
  OutletId p;
  OutletId q;
  if (!body.product(hidden, &state, &filter_n)) {
    if (!body.binary(hidden, BinaryKind::kAdd, &p, &q)) return false;
    if (body.input(p) >= 0) std::swap(p, q);
    match->bias = body.input(q);
    if (match->bias < 0 || !body.product(p, &state, &filter_n)) return false;
  }
  if (state != match->h) return false;
  match->x[0] = x_r;
  match->x[2] = x_n;
  match->filters[0] = filter_r;
  match->filters[2] = filter_n;
  return true;
}

/// Match h = (1 - z) * n + z * h, with sums and products in any order.
bool match_gru(const Body& body, OutletId h_next, Match* match) {
  OutletId left;
  OutletId right;
  if (!body.binary(h_next, BinaryKind::kAdd, &left, &right)) return false;
  match->cell = Recurrent::Cell::kGru;
  match->x.assign(3, -1);
  match->filters.assign(3, -1);
  for (int iteration = 0; iteration < 2; ++iteration, std::swap(left, right)) {
    OutletId z;
    OutletId h;
    if (!body.binary(right, BinaryKind::kMul, &z, &h)) continue;
    if (body.input(z) >= 0) std::swap(z, h);
    match->h = body.input(h);
    int state = -1;
    if (match->h < 0 ||
        !body.gate(z, UnaryKind::kSigmoid, &match->x[1], &state, &match->filters[1]) ||
        state != match->h) {
      continue;
    }
    OutletId rest;
    OutletId n;
    if (!body.binary(left, BinaryKind::kMul, &rest, &n)) continue;
    for (int inner = 0; inner < 2; ++inner, std::swap(rest, n)) {
      OutletId one;
      OutletId again;
      if (!body.binary(rest, BinaryKind::kSub, &one, &again)) continue;
      if (!body.uniform(one, 1.0F) || !(again == z)) continue;
      if (match_new_gate(body, n, match)) return true;
    }
  }
  return false;
}

/// Match c = f * c + i * g; h = o * tanh(c).
bool match_lstm(const Body& body, OutletId h_next, OutletId c_next, Match* match) {
  match->cell = Recurrent::Cell::kLstm;
  match->x.assign(4, -1);
  match->filters.assign(4, -1);
  OutletId o;
  OutletId squashed;
  OutletId of;
  if (!body.binary(h_next, BinaryKind::kMul, &o, &squashed)) return false;
  if (!body.unary(squashed, UnaryKind::kTanh, &of)) std::swap(o, squashed);
  if (!body.unary(squashed, UnaryKind::kTanh, &of) || !(of == c_next)) return false;
  if (!body.gate(o, UnaryKind::kSigmoid, &match->x[3], &match->h, &match->filters[3])) return false;
  OutletId keep;
  OutletId add;
  if (!body.binary(c_next, BinaryKind::kAdd, &keep, &add)) return false;
  for (int iteration = 0; iteration < 2; ++iteration, std::swap(keep, add)) {
    OutletId f;
    OutletId c;
    if (!body.binary(keep, BinaryKind::kMul, &f, &c)) continue;
    if (body.input(f) >= 0) std::swap(f, c);
    match->c = body.input(c);
    int state = -1;
    if (match->c < 0 ||
        !body.gate(f, UnaryKind::kSigmoid, &match->x[1], &state, &match->filters[1]) ||
        state != match->h) {
      continue;
    }
    OutletId i;
    OutletId g;
    if (!body.binary(add, BinaryKind::kMul, &i, &g)) continue;
    if (!body.gate(i, UnaryKind::kSigmoid, &match->x[0], &state, &match->filters[0]))
      std::swap(i, g);
    if (!body.gate(i, UnaryKind::kSigmoid, &match->x[0], &state, &match->filters[0]) ||
        state != match->h)
      continue;
    if (!body.gate(g, UnaryKind::kTanh, &match->x[2], &state, &match->filters[2]) ||
        state != match->h)
      continue;
    return true;
  }
  return false;
}

/// Return the outlet of the body with the next value of state input `index`.
OutletId next_of(const Scan& scan, int index) {
  int state = 0;
  for (int i = 0; i < index; ++i) {
    state += scan.inputs[static_cast<size_t>(i)].kind == Kind::kState ? 1 : 0;
  }
  return scan.body->outputs[static_cast<size_t>(scan.state_results[static_cast<size_t>(state)])];
}

bool match_cell(const Scan& scan, Match* match) {
  const Body body(*scan.body);
  std::vector<int> states;
  for (size_t i = 0; i < scan.inputs.size(); ++i) {
    if (scan.inputs[i].kind == Kind::kState) states.push_back(static_cast<int>(i));
  }
  if (states.size() == 1) {
    const OutletId next = next_of(scan, states[0]);
    if (!match_plain(body, next, match) && !match_gru(body, next, match)) return false;
    return match->h == states[0];
  }
  if (states.size() != 2) return false;
  for (int iteration = 0; iteration < 2; ++iteration, std::swap(states[0], states[1])) {
    Match attempt;
    if (match_lstm(body, next_of(scan, states[0]), next_of(scan, states[1]), &attempt) &&
        attempt.h == states[0] && attempt.c == states[1]) {
      *match = attempt;
      return true;
    }
  }
  return false;
}

/// Return whether the operands fit the layer: f32 [T, B, H], constant filters.
bool fits(const Scan& scan, const Match& match, const Rewrite& rewrite) {
  const Scan::Input& first = scan.inputs[static_cast<size_t>(match.x[0])];
  const Fact& x0 = rewrite.in(match.x[0]);
  if (x0.dtype != DType::kF32 || x0.rank() != 3 || first.axis > 1) return false;
  const auto hidden = x0.dim(2).to_int();
  if (!hidden) return false;
  for (const int x : match.x) {
    const Scan::Input& input = scan.inputs[static_cast<size_t>(x)];
    if (input.kind != Kind::kScan || input.axis != first.axis || input.chunk != first.chunk)
      return false;
    if (std::abs(input.chunk) != 1 || !rewrite.in(x).same_type(x0)) return false;
  }
  for (const int filter : match.filters) {
    const Fact& fact = rewrite.in(filter);
    if (scan.inputs[static_cast<size_t>(filter)].kind != Kind::kFull || !fact.konst) return false;
    if (fact.konst->block_format() != BlockFormat::kNone || fact.dtype != DType::kF32) return false;
    if (fact.konst->volume() != *hidden * *hidden) return false;
  }
  if (match.bias >= 0) {
    const Fact& bias = rewrite.in(match.bias);
    if (scan.inputs[static_cast<size_t>(match.bias)].kind != Kind::kFull || !bias.konst)
      return false;
    if (bias.konst->volume() != *hidden || bias.konst->shape().back() != *hidden) return false;
  }
  return rewrite.in(match.h).rank() == 3;
}

}  // namespace

std::vector<bool> recurrent_layers(const Graph& graph, std::span<const Scan* const> loops) {
  const Body nodes(graph);
  const auto linear = [&](size_t id) {
    const OutletId outlet{static_cast<int>(id), 0};
    OutletId a;
    OutletId b;
    return nodes.einsum(outlet) || nodes.binary(outlet, BinaryKind::kAdd, &a, &b) ||
           nodes.binary(outlet, BinaryKind::kMul, &a, &b);
  };
  std::vector<bool> out(graph.nodes.size());
  std::vector<int> other_readers(graph.nodes.size());
  for (const OutletId& output : graph.outputs) ++other_readers[static_cast<size_t>(output.node)];
  for (const Node& node : graph.nodes) {
    for (const OutletId& input : node.inputs) ++other_readers[static_cast<size_t>(input.node)];
  }
  for (size_t id = graph.nodes.size(); id-- > 0;) {
    Match match;
    out[id] = loops[id] ? match_cell(*loops[id], &match) : linear(id) && other_readers[id] == 0;
    if (!out[id]) continue;
    for (const OutletId& input : graph.nodes[id].inputs) {
      --other_readers[static_cast<size_t>(input.node)];
    }
  }
  for (size_t id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    const bool moves = node.op->traits().precision == Precision::kMoves;
    if (out[id] || (!moves && !linear(id))) continue;
    int from_layers = 0;
    int others = 0;
    for (const OutletId& input : node.inputs) {
      if (graph.fact(input).konst) continue;
      ++(out[static_cast<size_t>(input.node)] ? from_layers : others);
    }
    out[id] = from_layers > 0 && others == 0;
  }
  return out;
}

Status fuse_recurrent(Rewrite& rewrite) {
  // The rule is for this class alone.
  const auto& scan = static_cast<const Scan&>(*rewrite.node().op);
  Match match;
  if (!match_cell(scan, &match) || !fits(scan, match, rewrite)) return {};
  auto op = draft_op<Recurrent>();
  const Scan::Input& first = scan.inputs[static_cast<size_t>(match.x[0])];
  op->cell = static_cast<int64_t>(match.cell);
  op->axis = first.axis;
  op->batch_axis = 1 - first.axis;
  op->backward = first.chunk < 0;
  op->has_bias = match.bias >= 0;
  op->skip = scan.skip;
  op->called = scan.called;
  op->reset_every_turn = scan.reset_every_turn;
  op->limit = scan.limit;
  const OutletId h_next = next_of(scan, match.h);
  const OutletId c_next = match.c >= 0 ? next_of(scan, match.c) : OutletId{};
  bool sequence = false;
  std::vector<std::pair<size_t, size_t>> kept;  // output of the loop, output of the layer
  for (size_t i = 0; i < scan.outputs.size(); ++i) {
    const Scan::Output& output = scan.outputs[i];
    const OutletId result = scan.body->outputs[static_cast<size_t>(output.result)];
    const bool used = rewrite.uses({rewrite.node_id(), static_cast<int>(i)}) > 0;
    if (!used) continue;
    if (!output.last) {
      if (!(result == h_next) || sequence || output.axis != first.axis ||
          output.chunk != first.chunk)
        return {};
      sequence = true;
      op->outputs.push_back(Recurrent::kSequence);
    } else if (result == h_next) {
      op->outputs.push_back(Recurrent::kLastH);
    } else if (match.c >= 0 && result == c_next) {
      op->outputs.push_back(Recurrent::kLastC);
    } else {
      return {};
    }
    kept.emplace_back(i, op->outputs.size() - 1);
  }
  if (kept.empty()) return {};
  std::vector<OutletId> inputs;
  for (const int x : match.x) inputs.push_back(rewrite.mapped(rewrite.input(x)));
  for (const int filter : match.filters) inputs.push_back(rewrite.mapped(rewrite.input(filter)));
  if (match.bias >= 0) inputs.push_back(rewrite.mapped(rewrite.input(match.bias)));
  inputs.push_back(rewrite.mapped(rewrite.input(match.h)));
  if (match.c >= 0) inputs.push_back(rewrite.mapped(rewrite.input(match.c)));
  RILL_ASSIGN(const auto made, rewrite.wire(rewrite.node().name, op, inputs));
  // Outputs without a reader may have any value of their type.
  std::vector<OutletId> outlets(scan.outputs.size(), made[0]);
  for (const auto& [from, to] : kept) outlets[from] = made[to];
  return rewrite.replace(outlets);
}

}  // namespace rill::ops
