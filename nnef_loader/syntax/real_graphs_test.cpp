#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "nnef_loader/archive/archive.h"
#include "nnef_loader/syntax/parser.h"
#include "nnef_loader/syntax/printer.h"
#include "nnef_loader/syntax/quant.h"
#include "nnef_loader/tensor_file/tensor_file.h"

namespace rill::nnef {
namespace {

namespace fs = std::filesystem;

bool is_model(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".nnef.tgz") || name.ends_with(".nnef.tar") || name.ends_with(".nnef");
}

/// Return every archive under tests/models, folders among them.
std::vector<fs::path> models() {
  std::vector<fs::path> found;
  const fs::path root = fs::path(RILL_SOURCE_DIR) / "tests" / "models";
  if (!fs::exists(root)) return found;
  for (auto item = fs::recursive_directory_iterator(root); item != fs::end(item); ++item) {
    if (!is_model(item->path())) continue;
    found.push_back(item->path());
    if (item->is_directory()) item.disable_recursion_pending();
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string_view text_of(const Entry& entry) {
  return {reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size()};
}

void check_graph(const Entry& entry) {
  const auto document = parse_document(text_of(entry), entry.name);
  ASSERT_TRUE(document.ok()) << document.error().to_string();
  EXPECT_FALSE(document->graph.body.empty());
  const auto again = parse_document(print_document(*document), "printed");
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  EXPECT_TRUE(*again == *document);
}

void check_tensor(const Entry& entry) {
  const auto tensor = read_tensor(entry.bytes, entry.name);
  ASSERT_TRUE(tensor.ok()) << tensor.error().to_string();
  const auto bytes = write_tensor(*tensor);
  ASSERT_TRUE(bytes.ok()) << bytes.error().to_string();
  const auto again = read_tensor(*bytes, "written");
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  EXPECT_TRUE(again->same_bits(*tensor)) << entry.name;
}

TEST(RealModels, EveryFileOfEveryArchiveReadsAndRoundTrips) {
  const std::vector<fs::path> paths = models();
  ASSERT_FALSE(paths.empty()) << "no archives under tests/models";
  for (const fs::path& path : paths) {
    SCOPED_TRACE(path.string());
    const auto entries = read_archive(path.string());
    ASSERT_TRUE(entries.ok()) << entries.error().to_string();
    bool has_graph = false;
    for (const Entry& entry : *entries) {
      if (entry.name == "graph.nnef") {
        has_graph = true;
        check_graph(entry);
      } else if (entry.name == "graph.quant") {
        const auto info = parse_quant(text_of(entry), entry.name);
        ASSERT_TRUE(info.ok()) << info.error().to_string();
        EXPECT_FALSE(info->empty());
      } else if (entry.name.ends_with(".dat")) {
        check_tensor(entry);
      }
    }
    EXPECT_TRUE(has_graph);
  }
}

}  // namespace
}  // namespace rill::nnef
