#include "core/graph/rewrite.h"

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/base/search.h"
#include "core/graph/graph_copy.h"
#include "core/graph/walk.h"

namespace rill {

std::vector<OutletId> Rewrite::mapped_inputs(const Node& of) const {
  std::vector<OutletId> out;
  for (const OutletId& input : of.inputs) out.push_back(mapped(input));
  return out;
}

Result<std::vector<OutletId>> Rewrite::wire(std::string_view name, OpPtr op, WireList inputs) {
  return new_->add_folded(name, std::move(op), inputs, node().line);
}

Result<OutletId> Rewrite::wire1(std::string_view name, OpPtr op, WireList inputs) {
  RILL_ASSIGN(const std::vector<OutletId> outlets, wire(name, std::move(op), inputs));
  return outlets[0];
}

OutletId Rewrite::konst(std::string_view name, Tensor value) {
  return new_->add_const(name, std::make_shared<const Tensor>(std::move(value)), node().line);
}

Status Rewrite::replace(WireList outlets) {
  RILL_ASSERT(outlets.size() == node().outputs.size());
  for (size_t i = 0; i < outlets.size(); ++i) {
    const Fact& now = new_->fact(outlets[i]);
    const Fact& before = node().outputs[i];
    if (now.dtype != before.dtype || now.rank() != before.rank()) {
      return fail(Code::kInternal, "a rewriting changes ", before, " to ", now)
          .in_node(node().name, node().op->name());
    }
  }
  replacement_ = outlets.to_vector();
  return {};
}

Status Rewrite::replace_by(OpPtr op, WireList inputs, std::string_view name) {
  RILL_ASSIGN(const std::vector<OutletId> outlets,
              wire(name.empty() ? node().name : name, std::move(op), inputs));
  return replace(outlets);
}

namespace {

/// Indexes the nodes of a new graph to find equal ones.
class Computed {
 public:
  explicit Computed(const Graph& graph) : graph_(graph) {}

  /// Return the node with that op on those inputs; -1 if there is none.
  int find(const Op& op, const std::vector<OutletId>& inputs) {
    const auto it = nodes_.find({op.kind(), inputs});
    if (it == nodes_.end()) return -1;
    Ops& ops = it->second;
    // Print attributes only if there is an op to compare with.
    if (ops.by_text.empty()) ops.by_text.emplace(text_of(*graph_.node(ops.first).op), ops.first);
    const auto same = ops.by_text.find(text_of(op));
    return same == ops.by_text.end() ? -1 : same->second;
  }
  void add(int id) {
    const Node& node = graph_.node(id);
    const auto [it, fresh] = nodes_.try_emplace({node.op->kind(), node.inputs}, Ops{id, {}});
    if (!fresh) it->second.by_text.emplace(text_of(*node.op), id);
  }

 private:
  struct Key {
    const void* kind;
    std::vector<OutletId> inputs;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      auto hash = reinterpret_cast<uintptr_t>(key.kind);
      for (const OutletId& input : key.inputs) {
        hash = (hash ^ static_cast<uint32_t>(input.node)) * 0x9E3779B97F4A7C15u;
        hash = (hash ^ (hash >> 29)) + static_cast<uint32_t>(input.slot);
      }
      return hash;
    }
  };
  /// Ops of one kind on the same inputs: the first, and an index of all once there is a second.
  struct Ops {
    int first;
    std::unordered_map<std::string, int> by_text;
  };
  static std::string text_of(const Op& op) { return str_cat(op.name(), " ", op.attributes()); }

  const Graph& graph_;
  std::unordered_map<Key, Ops, KeyHash> nodes_;
};

/// Return whether a node stays separate from equal nodes, because they may be equal only for the
/// number that is bound to a symbol. Example: sums over the first and over the last frame, with one
/// frame. A stream computes both. A merged sum with a single reader would absorb its bias, and
/// round differently.
bool differs_once_bound(const Graph& graph, int id) {
  const Node& node = graph.node(id);
  return graph.numbers_bound && node.op->tolerance() == Tolerance::kRounding &&
         is_float(node.outputs[0].dtype);
}

/// One pass over the nodes of a graph.
class Pass final : public GraphCopy {
 public:
  Pass(const Graph& graph, const RewriteRule& rule, bool again)
      : GraphCopy(graph),
        rule_(rule),
        again_(again),
        uses_(graph.count_uses()),
        as_before_(graph.nodes.size(), false),
        computed_(out_) {}

  bool changed() const { return changed_; }

 private:
  Status visit(int id) override {
    const Node& node = graph_.node(id);
    // Rules see constants, too.
    Status done = source_of(*node.op) ? GraphCopy::visit(id) : copy(id);
    if (!done.ok()) {
      return std::move(done).in_node(node.name, node.op->name()).at("", node.line);
    }
    const auto i = static_cast<size_t>(id);
    as_before_[i] = same_facts(node, mapped_.by_node()[i]);
    return {};
  }

  bool same_facts(const Node& node, const std::vector<OutletId>& outlets) const {
    for (size_t slot = 0; slot < outlets.size(); ++slot) {
      const Fact& now = out_.fact(outlets[slot]);
      if (now.konst != node.outputs[slot].konst || !now.same_type(node.outputs[slot])) return false;
    }
    return true;
  }

  Status copy(int id) override {
    const Node& node = graph_.node(id);
    Rewrite rewrite(graph_, uses_, &out_, mapped_.by_node(), id);
    RILL_TRY(rule_(*node.op, rewrite));
    if (rewrite.replacement()) {
      mapped_.set(id, *rewrite.replacement());
      changed_ = true;
      return {};
    }
    return constant_of(*node.op) ? GraphCopy::visit(id) : keep(id, mapped_.inputs_of(node));
  }

  Status keep(int id, std::vector<OutletId> inputs) {
    const Node& node = graph_.node(id);
    const int known = computed_.find(*node.op, inputs);
    if (known >= 0) {
      changed_ = true;
      mapped_.set(id, out_.outlets_of(known));
      return {};
    }
    const bool is_known = again_ && all_of(node.inputs, [&](OutletId in) {
                            return as_before_[static_cast<size_t>(in.node)];
                          });
    if (is_known) {
      mapped_.set(id, out_.add_known(node, std::move(inputs)));
    } else {
      RILL_TRY(append_folded(id, node.op, inputs));
    }
    const int made = mapped_.at({id, 0}).node;
    if (constant_of(*out_.node(made).op)) {
      changed_ = true;
    } else if (!node.op->draws() && !differs_once_bound(out_, made)) {
      computed_.add(made);
    }
    return {};
  }

  const RewriteRule& rule_;
  const bool again_;
  const std::vector<std::vector<int>> uses_;
  std::vector<bool> as_before_;  ///< by node, whether the facts of its outputs are unchanged
  Computed computed_;
  bool changed_ = false;
};

}  // namespace

Result<Graph> rewrite_once(const Graph& graph, const RewriteRule& rule, bool* changed,
                           bool again) {
  // On the heap: bodies within bodies are rewritten on small stacks.
  const auto pass = std::make_unique<Pass>(graph, rule, again);
  Result<Graph> out = std::move(*pass).run();
  *changed |= pass->changed();
  return out;
}

}  // namespace rill
