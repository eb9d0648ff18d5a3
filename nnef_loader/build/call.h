#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nnef_loader/build/builder.h"

namespace rill::nnef {

/// Return whether an argument may use undeclared symbols, as in tract.
bool creates_symbols(std::string_view callee, std::string_view parameter);

/// One call of an operator, as its reader sees it. It evaluates an argument at its first use. The
/// call must outlive it.
class CallCtx final : public LoadCtx {
 public:
  CallCtx(Builder* builder, Scope* scope, const FragmentDecl& decl, const Call& call,
          const Naming& naming)
      : builder_(*builder),
        scope_(*scope),
        decl_(decl),
        call_(call),
        naming_(naming),
        name_(naming.node_name(call.callee)),
        values_(call.arguments.size()) {}
  CallCtx(Builder*, Scope*, const FragmentDecl&, Call&&, const Naming&) = delete;

  bool has(std::string_view name) const override;
  bool given(std::string_view name) const override;
  Result<Value> value(std::string_view name) override;
  Result<Value> default_value(std::string_view name);
  Result<OutletId> wire(std::string_view name) override;
  Result<std::vector<OutletId>> wires(std::string_view name) override;
  Result<Dim> dim(std::string_view name) override;
  Result<std::vector<Dim>> dims(std::string_view name) override;
  Result<int64_t> integer(std::string_view name) override;
  Result<std::vector<int64_t>> integers(std::string_view name) override;
  Result<float> number(std::string_view name) override;
  Result<bool> boolean(std::string_view name) override;
  Result<std::string> text(std::string_view name) override;
  Result<Pads> pads(std::string_view name) override;
  Status fields(Op& op) override;
  Status all_fields(Op& op) override;
  Result<Value> add_declared(std::shared_ptr<Op> op) override;
  Result<OutletId> to_wire(const Value& value) override;
  Result<Dim> to_dim(const Value& value) override;

  const Fact& fact(OutletId outlet) const override { return scope_.target->graph.fact(outlet); }
  Result<std::vector<OutletId>> add(OpPtr op, WireList inputs, std::string_view suffix) override;
  Result<OutletId> konst(Tensor value, std::string_view suffix) override;
  std::optional<QuantType> quant(int output) const override;
  std::string_view generic() const override { return call_.generic; }
  bool infix() const override { return call_.infix; }
  std::string assigned_name(int output) const override;
  Result<TensorPtr> resource(std::string_view label) override;
  Result<std::vector<std::string>> fragment_parameters(std::string_view fragment) override;
  Result<std::vector<std::string>> fragment_results(std::string_view fragment) override;
  Result<Graph> fragment_graph(std::string_view fragment, std::span<const Fact> facts) override;
  Graph& graph() override { return scope_.target->graph; }
  int line() const override { return builder_.place().line; }

  Builder& builder() { return builder_; }
  Scope& scope() { return scope_; }
  /// Return the preferred name for the node of this call; it may be taken.
  const std::string& node_name() const { return name_; }
  /// Return the arguments of the call. Each argument that the operator has read holds its value.
  std::vector<CallArgument> evaluated() const;
  /// Claim that name, or that name with the suffix.
  std::string claim_name(std::string_view suffix);

 private:
  const Parameter* parameter(std::string_view name) const;
  Result<const FragmentDecl*> body(std::string_view fragment) const;
  /// Parse strings as dims. Errors: kParse; kSymbol for unknown symbols.
  Status read_dims(Value* value) const;
  /// Add the argument to a failure.
  Status blame(Status status, std::string_view name) const;

  Builder& builder_;
  Scope& scope_;
  const FragmentDecl& decl_;
  const Call& call_;
  const Naming& naming_;
  std::string name_;
  std::vector<std::optional<Value>> values_;  ///< of the arguments that were read
};

}  // namespace rill::nnef
