#include "nnef_loader/load.h"

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
  return fail(Code::kParse, "text of ", bytes, " bytes, at most ", limits.max_text_bytes,
              " are allowed")
      .at(file, 0);
}

}  // namespace

std::span<const OpRoom* const> loader_rooms() {
  static const OpRoom* const kRooms[] = {
      &source_room(),
#ifndef RILL_WITHOUT_NESTED
      &nested_room(),
#endif
  };
  return kRooms;
}

Result<Graph> load_entries(std::vector<Entry> entries, std::span<const OpRoom* const> ops,
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
  // The loader's own operators come first: rooms do not replace them.
  const std::span<const OpRoom* const> own = loader_rooms();
  std::vector<const OpRoom*> rooms(own.begin(), own.end());
  rooms.insert(rooms.end(), ops.begin(), ops.end());
  OpIndex index(rooms, options.left_out);
  Builder builder(document, quant, &resources, &index, options);
  builder.set_nesting(ops, nesting);
  auto graph = builder.build();
  if (options.rooms_called) {
    for (const std::string_view room : index.rooms_called()) {
      if (room != source_room().name) options.rooms_called->insert(room);
    }
  }
  return graph;
}

Result<Graph> load(const std::string& path, std::span<const OpRoom* const> ops,
                   const LoadOptions& options) {
  RILL_ASSIGN(std::vector<Entry> entries, read_archive(path, options.limits));
  return load_entries(std::move(entries), ops, options);
}

Result<Graph> load_memory(std::span<const std::byte> bytes, std::span<const OpRoom* const> ops,
                          const LoadOptions& options) {
  RILL_ASSIGN(std::vector<Entry> entries, read_archive_memory(bytes, "model", options.limits));
  return load_entries(std::move(entries), ops, options);
}

}  // namespace rill::nnef
