#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/graph/onnx.h"
#include "nnef_loader/build/call.h"
#include "onnx_loader/build/loader.h"

namespace rill::onnx {

/// Return the arguments of a node's call: its inputs and attributes by the names of the
/// declaration. Errors: kParse for inputs and attributes that are not declared; kDType for an
/// attribute of another type than declared.
Result<std::vector<nnef::CallArgument>> arguments_of(const NodeProto& node,
                                                     const nnef::FragmentDecl& decl,
                                                     const std::string& name, Loader* loader,
                                                     Env* env);

/// The interface of an ONNX reader to one node: a call of its declaration, with ONNX's own
/// features.
class NodeCall final : public OnnxCtx {
 public:
  /// All arguments must outlive it.
  NodeCall(Loader* loader, Env* env, const NodeProto& node, int64_t opset,
           const nnef::FragmentDecl& decl, const nnef::Call& call, const nnef::Naming& naming)
      : loader_(*loader),
        env_(*env),
        node_(node),
        opset_(static_cast<int>(opset)),
        naming_(naming),
        call_(&loader->builder(), env->scope, decl, call, naming) {}

  int opset() const override { return opset_; }
  int outputs() const override { return static_cast<int>(node_.outputs.size()); }
  bool wants(int output) const override {
    return output < outputs() && !node_.outputs[static_cast<size_t>(output)].empty();
  }
  std::optional<int> stated_rank(int output) const override {
    if (env_.outer || !wants(output)) return std::nullopt;
    return loader_.stated_rank(node_.outputs[static_cast<size_t>(output)]);
  }
  Result<TensorPtr> constant(std::string_view name) override;
  void keep_quantised(OutletId real, const Quantised& of) override {
    env_.quantised.emplace(real, of);
  }
  const Quantised* quantised(OutletId real) const override;
  Status take_as_equal(const Dim& a, const Dim& b) override {
    return loader_.take_as_equal(a, b, env_);
  }
  Status expect_equal(const Dim& a, const Dim& b) override {
    return loader_.expect_equal(a, b, env_);
  }
  bool clamps() override { return loader_.clamps(); }
  Result<Value> call(std::string_view nnef, std::span<const Argument> arguments) override;
  Result<std::vector<OutletId>> branch(std::string_view attribute,
                                       std::span<const OutletId> inputs) override;
  Result<Body> body(std::string_view attribute, std::span<const Fact> facts) override;

  bool has(std::string_view name) const override { return call_.has(name); }
  bool given(std::string_view name) const override { return call_.given(name); }
  Result<Value> value(std::string_view name) override { return call_.value(name); }
  Result<OutletId> wire(std::string_view name) override { return call_.wire(name); }
  Result<std::vector<OutletId>> wires(std::string_view name) override { return call_.wires(name); }
  Result<Dim> dim(std::string_view name) override { return call_.dim(name); }
  Result<std::vector<Dim>> dims(std::string_view name) override { return call_.dims(name); }
  Result<int64_t> integer(std::string_view name) override { return call_.integer(name); }
  Result<std::vector<int64_t>> integers(std::string_view name) override {
    return call_.integers(name);
  }
  Result<float> number(std::string_view name) override { return call_.number(name); }
  Result<bool> boolean(std::string_view name) override { return call_.boolean(name); }
  Result<std::string> text(std::string_view name) override { return call_.text(name); }
  Result<Pads> pads(std::string_view name) override { return call_.pads(name); }
  Status fields(Op& op) override { return call_.fields(op); }
  Status all_fields(Op& op) override { return call_.all_fields(op); }
  Result<Value> add_declared(std::shared_ptr<Op> op) override {
    return call_.add_declared(std::move(op));
  }
  Result<OutletId> to_wire(const Value& value) override { return call_.to_wire(value); }
  Result<Dim> to_dim(const Value& value) override { return call_.to_dim(value); }
  const Fact& fact(OutletId outlet) const override { return call_.fact(outlet); }
  Result<std::vector<OutletId>> add(OpPtr op, WireList inputs, std::string_view suffix) override {
    return call_.add(std::move(op), inputs, suffix);
  }
  Result<OutletId> konst(Tensor value, std::string_view suffix) override {
    return call_.konst(std::move(value), suffix);
  }
  std::optional<QuantType> quant(int) const override { return std::nullopt; }
  std::string_view generic() const override { return {}; }
  std::string assigned_name(int output) const override { return call_.assigned_name(output); }
  // Members for NNEF documents, unused for ONNX.
  Result<TensorPtr> resource(std::string_view label) override { return no_document(label); }
  Result<std::vector<std::string>> fragment_parameters(std::string_view fragment) override {
    return no_document(fragment);
  }
  Result<std::vector<std::string>> fragment_results(std::string_view fragment) override {
    return no_document(fragment);
  }
  Result<Graph> fragment_graph(std::string_view fragment, std::span<const Fact>) override {
    return no_document(fragment);
  }
  Graph& graph() override { return call_.graph(); }
  int line() const override { return 0; }

 private:
  static Status no_document(std::string_view name) {
    return fail(Code::kInternal, "\"", name, "\" of an NNEF document is read for an ONNX node");
  }
  Result<std::shared_ptr<const GraphProto>> graph_attribute(std::string_view attribute);

  Loader& loader_;
  Env& env_;
  const NodeProto& node_;
  int opset_;
  const nnef::Naming& naming_;
  nnef::CallCtx call_;
};

}  // namespace rill::onnx
