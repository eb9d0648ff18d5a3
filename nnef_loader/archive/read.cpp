#include <algorithm>
#include <array>
#include <memory>

#include "nnef_loader/archive/archive.h"
#include "nnef_loader/archive/budget.h"
#include "nnef_loader/archive/folder.h"
#include "nnef_loader/archive/source.h"
#include "nnef_loader/archive/tar_header.h"
#include "nnef_loader/archive/unpack.h"
#include "nnef_loader/system/files.h"

namespace rill::nnef {
namespace {

enum class Content : uint8_t { kUnknown, kGzip, kZip, kTar, kGraph };

constexpr std::string_view kGraphName = "graph.nnef";
constexpr size_t kSniffBytes = 4096;

/// Return whether a text starts as `graph.nnef` does, after blanks and comments.
bool starts_as_graph(std::string_view head) {
  if (head.starts_with("\xEF\xBB\xBF")) head.remove_prefix(3);
  for (;;) {
    head.remove_prefix(std::min(head.find_first_not_of(" \t\r\n"), head.size()));
    if (!head.starts_with("#")) break;
    head.remove_prefix(std::min(head.find('\n'), head.size()));
  }
  constexpr std::string_view kFirstWord = "version";
  if (!head.starts_with(kFirstWord) || head.size() == kFirstWord.size()) return false;
  return std::string_view(" \t\r\n#").find(head[kFirstWord.size()]) != std::string_view::npos;
}

Content sniff(std::string_view head) {
  if (head.starts_with("\x1F\x8B")) return Content::kGzip;
  if (head.starts_with("PK\x03\x04") || head.starts_with("PK\x05\x06")) return Content::kZip;
  if (head.size() >= 262 && head.substr(257, 5) == "ustar") return Content::kTar;
  if (tar_checksum_fits(head)) return Content::kTar;
  // A tar without entries consists only of its end mark.
  const bool empty_tar =
      head.size() >= kTarBlockBytes &&
      head.substr(0, kTarBlockBytes).find_first_not_of('\0') == std::string_view::npos;
  if (empty_tar) return Content::kTar;
  return starts_as_graph(head) ? Content::kGraph : Content::kUnknown;
}

Result<Content> sniff_source(const Source& source) {
  std::array<std::byte, kSniffBytes> head{};
  RILL_ASSIGN(const size_t got, source.read_at(0, head));
  return sniff({reinterpret_cast<const char*>(head.data()), got});
}

Status no_archive(const Source& source) {
  return fail(Code::kParse, "not an archive: expected a folder, tar, tgz or zip")
      .at(source.name(), 0);
}

Result<std::vector<Entry>> unpack(const Source& source, Content content, const LoadLimits& limits) {
  Budget budget(limits, source.size(), source.name());
  switch (content) {
    case Content::kGzip:
      return unpack_tgz(source, &budget);
    case Content::kTar:
      return unpack_tar(source, &budget);
    case Content::kZip:
      return unpack_zip(source, &budget, NameRule::kPath);
    default:
      return no_archive(source);
  }
}

Result<std::vector<Entry>> unpack_keyed(const Source& source, const LoadLimits& limits) {
  RILL_ASSIGN(const Content content, sniff_source(source));
  if (content != Content::kZip) {
    return fail(Code::kParse, "not a zip file").at(source.name(), 0);
  }
  // The limits of a bundle of arrays are fixed.
  Budget budget(limits, source.size(), source.name(), false);
  return unpack_zip(source, &budget, NameRule::kKey);
}

/// Return the whole source as `graph.nnef`.
Result<Entry> graph_entry(const Source& source, const LoadLimits& limits) {
  if (source.size() > limits.max_expanded_bytes) {
    return model_too_large(source.name(), source.size(), limits.max_expanded_bytes);
  }
  Entry entry{
      std::string(kGraphName), std::vector<std::byte>(static_cast<size_t>(source.size())), {}};
  RILL_ASSIGN(const size_t got, source.read_at(0, entry.bytes));
  entry.bytes.resize(got);
  return entry;
}

Result<std::vector<Entry>> with_siblings(Entry graph, const std::string& path,
                                         const LoadLimits& limits, bool map_files) {
  const size_t slash = path.find_last_of(system::kSeparators);
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const auto is_wanted = [](std::string_view name) {
    return name.ends_with(".dat") || name == "graph.quant";
  };
  RILL_ASSIGN(std::vector<Entry> entries, read_siblings(folder, limits, map_files, is_wanted));
  entries.insert(entries.begin(), std::move(graph));
  return entries;
}

bool is_graph_path(std::string_view path) {
  const size_t slash = path.find_last_of(system::kSeparators);
  return path.substr(slash == path.npos ? 0 : slash + 1) == kGraphName;
}

/// An opened path: a folder, or a regular file.
struct Opened {
  bool is_folder = false;
  std::vector<std::byte> bytes;  ///< of a file without a stated size
  std::unique_ptr<Source> source;
};

Result<Opened> open_path(const std::string& path, const LoadLimits& limits) {
  RILL_ASSIGN(const int descriptor, open_for_reading(path));
  Opened opened;
  // The source now owns the descriptor.
  opened.source = std::make_unique<Source>(descriptor, 0, path);
  system::Info info;
  if (!system::stat_open(descriptor, &info)) return system_error("cannot read", path);
  opened.is_folder = info.kind == system::Kind::kFolder;
  // Virtual files, as in /proc, report no size.
  if (info.kind == system::Kind::kFile && info.bytes > 0) {
    opened.source->set_size(info.bytes);
  } else if (!opened.is_folder) {
    RILL_ASSIGN(opened.bytes, read_model_descriptor(descriptor, path, limits.max_expanded_bytes));
    opened.source = std::make_unique<Source>(opened.bytes, path);
  }
  return opened;
}

}  // namespace

Result<std::vector<Entry>> read_archive(const std::string& path, const LoadLimits& limits,
                                        bool map_files) {
  RILL_ASSIGN(const Opened opened, open_path(path, limits));
  if (opened.is_folder) return read_folder(path, limits, map_files);
  RILL_ASSIGN(const Content content, sniff_source(*opened.source));
  const bool is_graph =
      content == Content::kGraph || (content == Content::kUnknown && is_graph_path(path));
  if (map_files && content == Content::kTar) opened.source->map();
  if (!is_graph) return unpack(*opened.source, content, limits);
  RILL_ASSIGN(Entry graph, graph_entry(*opened.source, limits));
  if (!opened.bytes.empty()) return std::vector<Entry>{std::move(graph)};
  return with_siblings(std::move(graph), path, limits, map_files);
}

Result<std::vector<Entry>> read_archive_memory(std::span<const std::byte> bytes,
                                               std::string_view name_for_messages,
                                               const LoadLimits& limits) {
  const Source source(bytes, name_for_messages);
  RILL_ASSIGN(const Content content, sniff_source(source));
  if (content != Content::kGraph) return unpack(source, content, limits);
  RILL_ASSIGN(Entry graph, graph_entry(source, limits));
  return std::vector<Entry>{std::move(graph)};
}

Result<std::vector<Entry>> read_keyed_zip(const std::string& path, const LoadLimits& limits) {
  RILL_ASSIGN(const Opened opened, open_path(path, limits));
  if (opened.is_folder) return fail(Code::kIo, "cannot read ", path, ": it is a folder");
  return unpack_keyed(*opened.source, limits);
}

Result<std::vector<Entry>> read_keyed_zip_memory(std::span<const std::byte> bytes,
                                                 std::string_view name_for_messages,
                                                 const LoadLimits& limits) {
  return unpack_keyed(Source(bytes, name_for_messages), limits);
}

Result<std::vector<std::byte>> read_file(const std::string& path, int64_t max_bytes) {
  RILL_ASSIGN(const int descriptor, open_for_reading(path));
  const Source owner(descriptor, 0, path);
  return read_descriptor(descriptor, path, max_bytes);
}

}  // namespace rill::nnef
