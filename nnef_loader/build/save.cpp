// A whole document, and the archive around it.

#include <algorithm>
#include <cstring>
#include <map>

#include "core/base/search.h"
#include "core/base/sorted.h"
#include "core/graph/same.h"
#include "core/optim/optim.h"
#include "nnef_loader/build/builder.h"
#include "nnef_loader/build/literals.h"
#include "nnef_loader/build/load_entries.h"
#include "nnef_loader/build/taken.h"
#include "nnef_loader/build/writer.h"
#include "nnef_loader/properties.h"
#include "nnef_loader/syntax/printer.h"
#include "nnef_loader/tensor_file/tensor_file.h"

#ifndef RILL_VERSION
#define RILL_VERSION "0"
#endif

namespace rill::nnef {
namespace {

constexpr std::string_view kWriterKey = "tract_nnef_ser_version";
constexpr std::string_view kFormatKey = "tract_nnef_format_version";

/// Return whether an assertion mentions a symbol that still exists; if so, record all its symbols.
bool keeps(const SymbolScope::Assertion& assertion, const std::set<std::string>& live,
           std::set<std::string>* declared) {
  std::vector<std::string> names;
  for (const Dim& fact : assertion.non_negative) fact.collect_symbols(&names);
  const bool alive = any_of(names, [&](const std::string& name) { return live.contains(name); });
  if (alive) declared->insert(names.begin(), names.end());
  return alive;
}

Entry text_entry(std::string_view name, std::string_view text) {
  Entry entry;
  entry.name = name;
  entry.bytes.resize(text.size());
  if (!text.empty()) std::memcpy(entry.bytes.data(), text.data(), text.size());
  return entry;
}

Result<std::string> document_text(const Graph& graph, SavedDocument* document) {
  BodyWriter writer(graph, document, true);
  RILL_TRY(writer.write());
  const std::string properties = properties_text(graph, document);
  const SaveOptions& options = document->options;
  if (!options.tract_core && document->registries.contains("tract_core")) {
    return fail(Code::kUnsupported,
                "the model needs operators of tract_core, which is switched off");
  }
  if (options.declare_tract_core && options.tract_core) document->registries.insert("tract_core");
  std::string text = str_cat("version 1.0;\n\n", extensions_text(graph, document));
  for (const auto& [name, fragment] : document->fragments) text += str_cat(fragment, "\n");
  text += str_cat(properties, "\n");
  const auto list = [](const std::vector<std::string>& names) {
    std::string out;
    for (const std::string& name : names) {
      out += str_cat(out.empty() ? "" : ", ", print_identifier(name));
    }
    return out;
  };
  const std::string name =
      options.extended_identifiers ? print_identifier(graph.name) : mangled(graph.name);
  text += str_cat("graph ", name, "(", list(writer.input_names()), ") -> (",
                  list(writer.output_names()), ") {\n", writer.text(), "}\n");
  return text;
}

/// Add the files of a model, and in separate folders those of nested models.
Status add_entries(const Graph& graph, const std::string& folder, const SaveOptions& options,
                   std::vector<Entry>* entries) {
  SavedDocument document(options);
  RILL_ASSIGN(const std::string text, document_text(graph, &document));
  entries->push_back(text_entry(str_cat(folder, "graph.nnef"), text));
  if (!document.quant.empty()) {
    entries->push_back(text_entry(str_cat(folder, "graph.quant"), print_quant(document.quant)));
  }
  for (const auto& [label, tensor] : document.tensors) {
    auto bytes = write_tensor(*tensor);
    if (!bytes.ok()) return std::move(bytes).take_status().in_node(label, "");
    entries->push_back({str_cat(folder, label, ".dat"), std::move(bytes).value()});
  }
  for (const auto& [label, model] : document.models) {
    RILL_TRY(add_entries(*model, str_cat(folder, label, "/"), options, entries));
  }
  return {};
}

}  // namespace

std::string extensions_text(const Graph& graph, SavedDocument* document) {
  std::vector<std::string> lines;
  const std::set<std::string> live = document->symbols;
  std::set<std::string> declared = live;
  for (const SymbolScope::Assertion& assertion : graph.scope.assertions()) {
    if (keeps(assertion, live, &declared)) {
      lines.push_back(str_cat("extension tract_assert ", assertion.text, ";\n"));
    }
  }
  // The order of scenarios matters if several hold, so keep it.
  std::vector<std::string> scenarios;
  for (const SymbolScope::Scenario& scenario : graph.scope.scenarios()) {
    for (const SymbolScope::Assertion& assertion : scenario.assertions) {
      if (!keeps(assertion, live, &declared)) continue;
      scenarios.push_back(
          str_cat("extension tract_assert ", scenario.name, ": ", assertion.text, ";\n"));
    }
  }
  sort_list(lines);
  lines.insert(lines.end(), scenarios.begin(), scenarios.end());
  for (const std::string& registry : document->registries) {
    lines.push_back(str_cat("extension tract_registry ", registry, ";\n"));
  }
  for (const std::string& symbol : declared) {
    lines.push_back(str_cat("extension tract_symbol ", print_identifier(symbol), ";\n"));
  }
  if (lines.empty()) return {};
  return join(lines, "") + "\n";
}

std::string properties_text(const Graph& graph, SavedDocument* document) {
  std::string list;
  const auto add = [&](std::string_view key, std::string_view value) {
    list += str_cat(list.empty() ? "" : ", ", "(", nnef_text(key), ", ", value, ")");
  };
  std::map<std::string, Tensor> properties = properties_of(graph);
  // A name that the graph's line cannot hold becomes a property.
  if (!document->options.extended_identifiers && mangled(graph.name) != graph.name) {
    properties.insert_or_assign(std::string(kGraphNameKey), Tensor::scalar(graph.name));
  }
  if (auto taken = taken_texts(graph.scope, document->symbols)) {
    properties.insert_or_assign(std::string(kTakenKey), std::move(*taken));
  }
  for (const auto& [key, value] : properties) {
    if (key == kWriterKey || key == kFormatKey) continue;
    const auto text = literal_text(value);
    if (!text) continue;
    add(key, *text);
    if (text->find("tract_core_") != std::string::npos) document->registries.insert("tract_core");
    if (value.dtype() != DType::kDim) continue;
    for (const Dim& dim : value.values<Dim>()) {
      std::vector<std::string> names;
      dim.collect_symbols(&names);
      document->symbols.insert(names.begin(), names.end());
    }
  }
  const std::string& writer = document->options.writer;
  add(kWriterKey, nnef_text(writer.empty() ? std::string_view("rill " RILL_VERSION) : writer));
  add(kFormatKey, nnef_text(std::string_view("beta1")));
  return str_cat(
      "fragment tract_core_properties(\n) -> (properties: (string, tensor<scalar>)[])\n{",
      "\n  properties = [", list, "];\n}\n");
}

Result<std::string> graph_text(const Graph& graph, const SaveOptions& options) {
  SavedDocument document(options);
  return document_text(graph, &document);
}

namespace {

/// Report that a file differs from its source: the remedy, and that nothing was written.
Status not_read_back(Status status) {
  Error& error = status.error();
  // Failures of the machine are not faults of the model.
  if (error.code == Code::kNoMem || error.code == Code::kIo) return status;
  error.code = Code::kInternal;
  error.message = str_cat("the written model reads back differently: ", error.message);
  return std::move(status).hint(
      "Nothing was written: this is a bug of rill; please report it with the model");
}

LoadOptions reading(const SaveOptions& options) {
  LoadOptions out;
  out.keep_submodels = options.keep_submodels;
  // The new file is trusted, and may be as large as the model.
  constexpr int64_t kAny = int64_t{1} << 40;
  out.limits.max_expanded_bytes = kAny;
  out.limits.ratio_slack_bytes = kAny;
  out.limits.max_entries = kAny;
  out.limits.max_text_bytes = kAny;
  out.limits.max_nodes = kAny;
  out.limits.max_symbols = kAny;
  out.limits.max_folded_bytes = kAny;
  out.limits.max_unfolding_steps = kAny;
  return out;
}

Status same_properties(const Graph& expected, const Graph& found) {
  const auto own = properties_of(expected);
  const auto others = properties_of(found);
  for (const auto& [key, value] : own) {
    // Properties without a textual form are not written.
    if (key == kWriterKey || key == kFormatKey || !literal_text(value)) continue;
    const auto other = others.find(key);
    const bool same = other != others.end() && literal_text(other->second) == literal_text(value);
    if (!same) return fail(Code::kInternal, "property \"", key, "\" differs");
  }
  return {};
}

/// Compare node by node, before or after simplification: NNEF expresses some operators as several.
Status same_graphs(const Graph& expected, const Graph& found) {
  if (expect_same(expected, found).ok()) return {};
  RILL_ASSIGN(const Graph own, declutter(expected));
  RILL_ASSIGN(const Graph other, declutter(found));
  return expect_same(own, other);
}

/// Compare a model that was read back with the one that was written.
Result<Graph> compared(const Graph& graph, Result<Graph> again) {
  if (!again.ok()) return not_read_back(again.take_status());
  Status status = same_graphs(graph, *again);
  if (status.ok()) status = same_properties(graph, *again);
  if (!status.ok()) return not_read_back(std::move(status));
  return again;
}

}  // namespace

Result<Graph> read_back(const Graph& graph, const SaveOptions& options) {
  std::vector<Entry> entries;
  RILL_TRY(add_entries(graph, "", options, &entries));
  return compared(graph, load_entries(std::move(entries), options.read_back, reading(options)));
}

Status save(const Graph& graph, const std::string& path, Container container,
            const SaveOptions& options) {
  std::vector<Entry> entries;
  RILL_TRY(add_entries(graph, "", options, &entries));
  if (options.read_back.empty()) return write_archive(path, container, entries);
  return write_archive(path, container, entries, [&](const std::string& written) -> Status {
    auto same = compared(graph, load(written, options.read_back, reading(options)));
    return same.ok() ? Status() : same.take_status();
  });
}

}  // namespace rill::nnef
