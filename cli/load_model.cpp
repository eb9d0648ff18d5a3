#include "cli/load_model.h"

#include <algorithm>

#include "cli/bundle.h"
#include "cli/specs.h"
#include "core/tensor/numbers.h"
#include "ops/op_table.h"
#ifdef RILL_WITH_ONNX
#include "onnx_loader/load.h"
#include "ops/onnx_table.h"
#endif

namespace rill::cli {

std::string declared_name(std::string_view declaration) {
  constexpr std::string_view kWord = "fragment ";
  const size_t at = declaration.find(kWord);
  if (at != std::string_view::npos) declaration.remove_prefix(at + kWord.size());
  return std::string(declaration.substr(0, declaration.find_first_of("<( ")));
}

Result<Tensor> as_input(const Tensor& values, const Fact& fact) {
  std::vector<int64_t> shape;
  int64_t volume = 1;
  for (const Dim& dim : fact.shape) {
    // The values determine a symbolic extent.
    shape.push_back(dim.to_int().value_or(fact.rank() == 1 ? values.volume() : 1));
    volume *= shape.back();
  }
  if (volume != values.volume()) {
    return fail(Code::kShape, "the input is ", fact, ", found ", counted(values.volume(), "value"));
  }
  RILL_ASSIGN(Tensor typed, cast(values, fact.dtype));
  return typed.reshaped(std::move(shape));
}

Result<std::vector<std::pair<std::string, TensorPtr>>> constant_inputs(
    const CommonOptions& common) {
  std::vector<std::pair<std::string, TensorPtr>> out;
  for (const std::string& text : common.model.constantize) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) {
      out.emplace_back(text, nullptr);
      continue;
    }
    auto values = numbers_of_text(std::string_view(text).substr(equals + 1));
    if (!values.ok()) {
      return fail(Code::kArg, "--constantize ", text, ": ", values.error().message)
          .hint("Expected NAME=VALUE, or NAME=VALUE,VALUE...");
    }
    out.emplace_back(text.substr(0, equals),
                     std::make_shared<const Tensor>(std::move(values).value()));
  }
  return out;
}

Status refuse_other_formats(const std::string& model) {
#ifdef RILL_WITH_ONNX
  if (model.ends_with(".onnx") && !is_onnx_model(model)) {
    return fail(Code::kParse, model,
                ": damaged, or not an ONNX model: its first bytes are not those of one");
  }
  const char* const kOthers[] = {".tflite", ".pb"};
#else
  const char* const kOthers[] = {".onnx", ".tflite", ".pb"};
#endif
  for (const char* other : kOthers) {
    if (!model.ends_with(other)) continue;
    return fail(Code::kUnsupported, "Format ", other + 1, " not supported: ", model)
        .hint("rill loads NNEF archives, as torch_to_nnef writes them");
  }
  return {};
}

#ifdef RILL_WITH_ONNX

bool is_onnx_model(const std::string& path) { return onnx::is_onnx_file(path); }

namespace {

using NamedValues = std::vector<std::pair<std::string, TensorPtr>>;

/// Return the values in the bundles that determine shapes: from shape bundles, or from the inputs
/// of a command that runs once, so that no result is reused with other values.
Result<NamedValues> values_in_bundles(const CommonOptions& common) {
  NamedValues out;
  const bool of_inputs = common.model.fact_bundles.empty() && common.demands.values_decide;
  RILL_ASSIGN(const Bundle bundle,
              Bundle::read(of_inputs ? common.values.input_bundles : common.model.fact_bundles));
  for (const Bundle::Item& item : bundle.items()) {
    if (item.turns.size() != 1) continue;
    out.emplace_back(item.name, std::make_shared<const Tensor>(item.turns[0]));
  }
  return out;
}

/// Refuse values that differ from the constants with which the model was read.
Status check_same_values(const Graph& graph, const NamedValues& known,
                         const CommonOptions& common) {
  RILL_ASSIGN(const Bundle bundle, Bundle::read(common.values.input_bundles));
  for (const auto& [name, value] : known) {
    bool input = false;
    for (size_t i = 0; i < graph.inputs.size(); ++i) input |= graph.input_name(i) == name;
    const Bundle::Item* item = input ? nullptr : bundle.find(name);
    if (!item) continue;
    for (const Tensor& turn : item->turns) {
      if (turn.same_bits(*value)) continue;
      return fail(Code::kArg, "input ", name, " is a constant, with the value that ",
                  "--input-facts-from-bundle gives; --input-from-bundle gives another one")
          .hint("Shapes depend on its value: load the model for each");
    }
  }
  return {};
}

}  // namespace

Result<Graph> load_model(const CommonOptions& common, const nnef::LoadOptions& options) {
  onnx::LoadOptions with_values;
  static_cast<nnef::LoadOptions&>(with_values) = options;
  RILL_ASSIGN(auto constants, constant_inputs(common));
  for (const std::string& text : common.model.input_facts) {
    RILL_ASSIGN(const FactSpec spec, parse_fact_spec(text));
    const auto it = std::find_if(constants.begin(), constants.end(), [&](const auto& each) {
      return each.first == spec.name && !each.second;
    });
    if (it == constants.end() || !spec.has_values) continue;
    RILL_ASSIGN(Tensor value, spec_tensor(spec));
    it->second = std::make_shared<const Tensor>(std::move(value));
  }
  std::erase_if(constants, [](const auto& each) { return !each.second; });
  with_values.constants = constants;
  NamedValues values;
  if (is_onnx_model(common.file)) {
    RILL_ASSIGN(values, values_in_bundles(common));
  }
  with_values.values = values;
  with_values.assertions = common.model.asserts;
  RILL_ASSIGN(Graph graph,
              onnx::load_any(common.file, {ops::op_table(), ops::onnx_table()}, with_values));
  RILL_TRY(check_same_values(graph, values, common));
  return graph;
}

std::map<std::string, std::vector<int>> onnx_operators() {
  std::map<std::string, std::vector<int>> out;
  for (const OnnxModule* module : ops::onnx_table()) {
    for (const OnnxOp& op : module->ops) {
      const std::string_view domain(op.domain);
      const std::string name = declared_name(op.declaration);
      out[domain.empty() ? name : str_cat(domain, ".", name)].push_back(op.since);
    }
  }
  for (const auto& [name, since] : onnx::sequence_operators()) out[std::string(name)] = {since};
  return out;
}

#else

std::map<std::string, std::vector<int>> onnx_operators() { return {}; }

bool is_onnx_model(const std::string&) { return false; }

Result<Graph> load_model(const CommonOptions& common, const nnef::LoadOptions& options) {
  return nnef::load(common.file, ops::op_table(), options);
}

#endif

}  // namespace rill::cli
