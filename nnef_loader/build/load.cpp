#include "nnef_loader/load.h"

#include "core/base/progress.h"
#include "core/base/raise_limit.h"
#include "nnef_loader/build/builder.h"
#include "nnef_loader/build/load_entries.h"
#include "nnef_loader/build/nested.h"
#include "nnef_loader/syntax/parser.h"

namespace rill::nnef {
namespace {

constexpr std::string_view kQuantFile = "graph.quant";

Status check_length(std::string_view text, std::string_view file, const LoadLimits& limits) {
  const auto bytes = static_cast<int64_t>(text.size());
  if (bytes <= limits.max_text_bytes) return {};
  const auto most = static_cast<int64_t>(kMaxTextBytes);
  return fail(Code::kParse, "a text of ", counted(bytes, "byte"), ": the limit is ",
              limits.max_text_bytes)
      .at(file, 0)
      .hint(bytes <= most ? raise_load_limit("max_text_bytes")
                          : str_cat("No text may have more than ", most, " bytes"));
}

}  // namespace

std::span<const OpModule* const> loader_modules() {
  static const OpModule* const kModules[] = {
      &source_module(),
#ifndef RILL_WITHOUT_NESTED
      &nested_module(),
#endif
  };
  return kModules;
}

Result<Graph> load_entries(std::vector<Entry> entries, std::span<const OpModule* const> ops,
                           const LoadOptions& options, int nesting) {
  Resources resources(std::move(entries));
  if (!resources.has(kGraphFile)) {
    Status status = fail(Code::kParse, "Resource graph.nnef was not found in the model");
    const std::string elsewhere = resources.elsewhere(kGraphFile);
    if (elsewhere.empty()) return status;
    return std::move(status).hint(
        str_cat("There is \"", elsewhere, "\": pack the content of its folder, not the folder"));
  }
  RILL_TRY(check_length(resources.text(kGraphFile), kGraphFile, options.limits));
  RILL_ASSIGN(const Document document, parse_document(resources.text(kGraphFile), kGraphFile));
  QuantInfo quant;
  if (resources.has(kQuantFile)) {
    RILL_TRY(check_length(resources.text(kQuantFile), kQuantFile, options.limits));
    RILL_ASSIGN(quant, parse_quant(resources.text(kQuantFile), kQuantFile));
  }
  // The loader's own operators come first, so that modules cannot replace them.
  const std::span<const OpModule* const> own = loader_modules();
  std::vector<const OpModule*> modules(own.begin(), own.end());
  modules.insert(modules.end(), ops.begin(), ops.end());
  OpIndex index(modules, options.left_out);
  Builder builder(document, quant, &resources, &index, options);
  builder.set_nesting(ops, nesting);
  auto graph = builder.build();
  if (options.modules_called) {
    for (const std::string_view module : index.modules_called()) {
      if (module != source_module().name) options.modules_called->insert(module);
    }
  }
  return graph;
}

Result<Graph> load(const std::string& path, std::span<const OpModule* const> ops,
                   const LoadOptions& options) {
  const ProgressStage stage(Stage::kLoad);
  RILL_ASSIGN(std::vector<Entry> entries, read_archive(path, options.limits, options.map_files));
  auto graph = load_entries(std::move(entries), ops, options);
  // Refusals without a line are about the archive.
  if (!graph.ok() && graph.error().code == Code::kParse) return graph.take_status().at(path, 0);
  return graph;
}

Result<Graph> load_memory(std::span<const std::byte> bytes, std::span<const OpModule* const> ops,
                          const LoadOptions& options) {
  const ProgressStage stage(Stage::kLoad);
  RILL_ASSIGN(std::vector<Entry> entries, read_archive_memory(bytes, "model", options.limits));
  return load_entries(std::move(entries), ops, options);
}

}  // namespace rill::nnef
