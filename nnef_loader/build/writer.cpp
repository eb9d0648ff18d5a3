#include "nnef_loader/build/writer.h"

#include "core/base/utf8.h"
#include "core/graph/some_fields.h"
#include "nnef_loader/build/limits.h"
#include "nnef_loader/build/literals.h"
#include "nnef_loader/syntax/printer.h"

namespace rill::nnef {
namespace {

constexpr int64_t kMaxInlineElements = 8;
constexpr size_t kMaxLabelBytes = 200;

/// Collects the dims in the attributes of an op.
class DimCollector final : public SomeFields {
 public:
  using SomeFields::field;
  std::vector<Dim> dims;

  void add(const TensorPtr& tensor) {
    if (!tensor || tensor->dtype() != DType::kDim) return;
    dims.insert(dims.end(), tensor->values<Dim>().begin(), tensor->values<Dim>().end());
  }
  void field(const char*, Dim& value) override { dims.push_back(value); }
  void field(const char*, std::vector<Dim>& values) override {
    dims.insert(dims.end(), values.begin(), values.end());
  }
  void field(const char*, TensorPtr& value) override { add(value); }
};

/// Return all dims that the statement of a node may contain.
std::vector<Dim> dims_of(const Node& node) {
  DimCollector collector;
  node.op->clone()->fields(collector);
  for (const Fact& fact : node.outputs) {
    collector.dims.insert(collector.dims.end(), fact.shape.begin(), fact.shape.end());
  }
  return std::move(collector.dims);
}

void add_symbols(std::span<const Dim> dims, std::set<std::string>* symbols) {
  std::vector<std::string> names;
  for (const Dim& dim : dims) dim.collect_symbols(&names);
  symbols->insert(names.begin(), names.end());
}

void add_symbols(const TensorPtr& tensor, std::set<std::string>* symbols) {
  if (tensor->dtype() == DType::kDim) add_symbols(tensor->values<Dim>(), symbols);
}

/// Return a file name for a tensor: its own name if that is valid.
std::string label_stem(std::string_view name) {
  bool usable = !name.empty() && name[0] != '.' && name.find("..") == std::string_view::npos;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    usable &= plain || c == '_' || c == '-' || c == '.';
  }
  return (usable ? std::string(name) : mangled(name)).substr(0, kMaxLabelBytes);
}

}  // namespace

std::string BodyWriter::identifier(std::string_view name) const {
  const bool keep = document_.options.extended_identifiers && is_main_ && !name.empty() &&
                    find_bad_utf8(name) == std::string_view::npos;
  return keep ? std::string(name) : mangled(name);
}

std::string BodyWriter::claim(std::string_view stem) {
  return names_.claim(identifier(stem), true);
}

std::vector<std::string> BodyWriter::input_names() const {
  std::vector<std::string> names;
  for (const OutletId& input : graph_.inputs) names.push_back(wire_name(input));
  return names;
}

void BodyWriter::find_live_nodes() {
  const size_t count = graph_.nodes.size();
  live_.assign(count, 0);
  written_.assign(count, 0);
  for (const OutletId& output : graph_.outputs) live_[static_cast<size_t>(output.node)] = 1;
  for (const OutletId& input : graph_.inputs) live_[static_cast<size_t>(input.node)] = 1;
  for (size_t i = count; i-- > 0;) {
    if (!live_[i]) continue;
    for (const OutletId& input : graph_.nodes[i].inputs) live_[static_cast<size_t>(input.node)] = 1;
  }
}

void BodyWriter::name_wires() {
  for (const Node& node : graph_.nodes) wire_names_.emplace_back(node.outputs.size());
  const auto name_of = [&](OutletId outlet) -> std::string& {
    return wire_names_[static_cast<size_t>(outlet.node)][static_cast<size_t>(outlet.slot)];
  };
  // A wire named like a symbol or a number would hide it.
  claim("nan");
  for (const std::string& symbol : graph_.scope.symbols()) claim(symbol);
  for (const OutletId& input : graph_.inputs) name_of(input) = claim(graph_.node(input.node).name);
  for (size_t i = 0; i < graph_.outputs.size(); ++i) {
    const OutletId outlet = graph_.outputs[i];
    std::string& name = name_of(outlet);
    // In the model, name a wire after its node, as tract does; in a body, after the output.
    const Node& node = graph_.node(outlet.node);
    const bool own = outlet.slot == 0 && node.name == graph_.output_names[i];
    if (name.empty() && (own || !is_main_ || outlet.slot > 0)) {
      name = claim(graph_.output_names[i]);
      output_names_.push_back(name);
    } else if (name == identifier(graph_.output_names[i])) {
      output_names_.push_back(name);
    } else {
      output_names_.push_back(claim(graph_.output_names[i]));
      aliases_.emplace_back(output_names_.back(), outlet);
    }
  }
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (!live_[i]) continue;
    const Node& node = graph_.nodes[i];
    for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
      std::string& name = wire_names_[i][slot];
      if (name.empty()) name = claim(slot == 0 ? node.name : str_cat(node.name, "_", slot));
    }
  }
}

void BodyWriter::emit(std::string_view left, std::string_view expression) {
  text_ += str_cat("  ", left, " = ", expression, ";\n");
  // Expressions of dims may contain casts.
  if (expression.find("tract_core_") != std::string_view::npos) {
    document_.registries.insert("tract_core");
  }
}

Result<std::string> BodyWriter::variable(std::string_view stem, const TensorPtr& tensor) {
  const std::string name = claim(stem);
  RILL_TRY(write_variable(name, stem, tensor));
  return print_identifier(name);
}

Status BodyWriter::write_variable(const std::string& name, std::string_view stem,
                                  const TensorPtr& tensor) {
  std::string label = document_.labels.claim(label_stem(stem));
  const std::string file =
      str_cat("variable<scalar>(label = ", print_string(label), ", shape = ", tensor->shape(), ")");
  if (tensor->dtype() == DType::kBF16) {
    // Files of tensors hold such numbers as f32.
    const std::string wide = claim(str_cat(name, "_f32"));
    emit(print_identifier(wide), file);
    emit(print_identifier(name), cast_text(print_identifier(wide), DType::kBF16));
  } else {
    emit(print_identifier(name), file);
  }
  document_.tensors[std::move(label)] = tensor;
  return record_quant(Fact::of_tensor(tensor), name);
}

Status BodyWriter::write_constant(int id) {
  const auto index = static_cast<size_t>(id);
  if (written_[index]) return {};
  written_[index] = 1;
  const TensorPtr& tensor = graph_.node(id).op->as<Const>()->value;
  const std::string& name = wire_names_[index][0];
  add_symbols(tensor, &document_.symbols);
  const bool must_inline = tensor->dtype() == DType::kDim;
  if (must_inline ||
      (tensor->volume() <= kMaxInlineElements && !document_.options.extern_all_constants)) {
    if (const auto text = literal_text(*tensor)) {
      emit(print_identifier(name), *text);
      return {};
    }
  }
  if (must_inline) return fail(Code::kUnsupported, "an empty tensor of dims cannot be written");
  return write_variable(name, graph_.node(id).name, tensor);
}

Result<std::string> BodyWriter::use(OutletId outlet) {
  const auto* constant = graph_.node(outlet.node).op->as<Const>();
  if (!constant) return print_identifier(wire_name(outlet));
  const bool inlined =
      is_bare_literal(*constant->value) &&
      (!document_.options.extern_all_constants || constant->value->dtype() == DType::kDim);
  if (inlined && !written_[static_cast<size_t>(outlet.node)]) {
    add_symbols(constant->value, &document_.symbols);
    return *literal_text(*constant->value);
  }
  RILL_TRY(write_constant(outlet.node));
  return print_identifier(wire_name(outlet));
}

Status BodyWriter::write_source(const Node& node, const std::string& name) {
  const Fact& fact = node.outputs[0];
  bool concrete = true;
  for (const Dim& extent : fact.shape) concrete &= extent.is_const();
  const std::string shape = dims_text(fact.shape);
  // graph.quant contains the quantization.
  if ((fact.dtype == DType::kF32 || is_quantised(fact.dtype)) && concrete) {
    emit(print_identifier(name), str_cat("external(shape = ", shape, ")"));
    return {};
  }
  std::string type(dtype_name(fact.dtype));
  if (is_quantised(fact.dtype)) {
    type += str_cat("(Z:", fact.q.zero_point, " S:", fact.q.scale, ")");
  }
  emit(print_identifier(name),
       str_cat("tract_core_external(shape = ", shape, ", datum_type = \"", type, "\")"));
  return {};
}

std::optional<std::string> BodyWriter::extent_text(const Dim& dim, int id) const {
  const auto spelled = [&](OutletId outlet) -> std::optional<std::string> {
    const Node& node = graph_.node(outlet.node);
    if (node.op->as<Const>()) return std::nullopt;
    const std::vector<Dim>& shape = graph_.fact(outlet).shape;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (!(shape[axis] == dim)) continue;
      return str_cat("tract_core_shape_of(", print_identifier(wire_name(outlet)), ")[", axis, "]");
    }
    return std::nullopt;
  };
  for (const OutletId& input : graph_.node(id).inputs) {
    if (auto text = spelled(input)) return text;
  }
  for (int i = 0; i < id; ++i) {
    if (!live_[static_cast<size_t>(i)]) continue;
    for (size_t slot = 0; slot < graph_.node(i).outputs.size(); ++slot) {
      if (auto text = spelled({i, static_cast<int>(slot)})) return text;
    }
  }
  return std::nullopt;
}

std::string BodyWriter::dim(const Dim& value, int id) const {
  const auto extent = [&](const Dim& broadcast) { return extent_text(broadcast, id); };
  if (const auto text = dim_expression(value, extent)) return *text;
  return extent_text(value, id).value_or(dim_text(value));
}

Status BodyWriter::record_quant(const Fact& fact, const std::string& name) {
  if (!is_quantised(fact.dtype)) return {};
  if (!is_main_) {
    return fail(Code::kUnsupported, "quantised tensors in loop bodies cannot be written");
  }
  QuantEntry entry;
  entry.zero_point = fact.q.zero_point;
  entry.scale = fact.q.scale;
  entry.bits = fact.dtype == DType::kQI32 ? 32 : 8;
  entry.is_signed = fact.dtype != DType::kQU8;
  document_.quant[name] = entry;
  return {};
}

Status BodyWriter::write_node(int id) {
  const Node& node = graph_.node(id);
  if (node.op->as<Const>()) return {};
  add_symbols(dims_of(node), &document_.symbols);
  const std::vector<std::string>& names = wire_names_[static_cast<size_t>(id)];
  if (node.op->as<Source>()) {
    if (is_main_) RILL_TRY(write_source(node, names[0]));
  } else {
    NodeWriter writer(this, id);
    Status status = node.op->save(writer);
    if (!status.ok()) return std::move(status).in_node(node.name, node.op->name());
    for (size_t slot = 0; slot < names.size(); ++slot) {
      if (writer.assigned(slot)) continue;
      return fail(Code::kInternal, "output ", slot, " is not written")
          .in_node(node.name, node.op->name());
    }
  }
  for (size_t slot = 0; slot < names.size(); ++slot) {
    RILL_TRY(record_quant(node.outputs[slot], names[slot]));
  }
  return {};
}

Status BodyWriter::write() {
  if (graph_.output_names.size() != graph_.outputs.size()) {
    return fail(Code::kInternal, "an output has no name");
  }
  find_live_nodes();
  name_wires();
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (live_[i]) RILL_TRY(write_node(static_cast<int>(i)));
  }
  for (const OutletId& output : graph_.outputs) {
    if (graph_.node(output.node).op->as<Const>()) RILL_TRY(write_constant(output.node));
  }
  for (const auto& [name, outlet] : aliases_) {
    emit(print_identifier(name), print_identifier(wire_name(outlet)));
  }
  return {};
}

Result<const SavedBody*> BodyWriter::body(const Graph& body) {
  const auto found = document_.bodies.find(&body);
  if (found != document_.bodies.end()) return &found->second;
  if (document_.depth >= kMaxFragmentDepth) {
    return fail(Code::kUnsupported, "loops are nested over ", kMaxFragmentDepth, " deep");
  }
  ++document_.depth;
  BodyWriter writer(body, &document_, false);
  Status status = writer.write();
  --document_.depth;
  RILL_TRY(status);
  SavedBody saved{str_cat("scan_body_", document_.bodies.size()), writer.input_names(),
                  writer.output_names()};
  std::string text = str_cat("fragment ", saved.fragment, "(\n");
  for (size_t i = 0; i < saved.inputs.size(); ++i) {
    text += str_cat("    ", saved.inputs[i], ": tensor<scalar>",
                    i + 1 < saved.inputs.size() ? ",\n" : "\n");
  }
  text += ") -> (";
  for (size_t i = 0; i < saved.outputs.size(); ++i) {
    text += str_cat(i > 0 ? ", " : "", saved.outputs[i], ": tensor<scalar>");
  }
  text += str_cat(")\n{\n", writer.text(), "}\n");
  document_.fragments[saved.fragment] = std::move(text);
  return &(document_.bodies[&body] = std::move(saved));
}

}  // namespace rill::nnef
