#include "nnef_loader/archive/folder.h"

#include <algorithm>

#include "core/base/checked.h"
#include "core/base/raise_limit.h"
#include "core/base/sorted.h"
#include "nnef_loader/archive/entry_names.h"
#include "nnef_loader/archive/source.h"
#include "nnef_loader/system/files.h"

namespace rill::nnef {
namespace {

struct Found {
  std::string name;
  bool is_folder = false;
};

class FolderReader {
 public:
  FolderReader(const std::string& root, const LoadLimits& limits, bool map_files)
      : root_(root),
        limits_(limits),
        bytes_left_(limits.max_expanded_bytes),
        map_files_(map_files) {}

  /// Refuse a folder that is not that of a model. Errors: kParse.
  Status expect_graph();
  Status read(const std::string& below, int depth,
              const std::function<bool(std::string_view)>* wanted);
  std::vector<Entry> take() { return std::move(entries_); }

 private:
  Result<std::vector<Found>> list(const std::string& path);
  Status add(const std::string& name);

  const std::string& root_;
  const LoadLimits& limits_;
  int64_t bytes_left_;
  bool map_files_;
  int64_t seen_ = 0;
  std::vector<Entry> entries_;
};

Result<std::vector<Found>> FolderReader::list(const std::string& path) {
  std::vector<Found> found;
  Status refused;
  const bool listed = system::list(path, [&](std::string_view name) {
    if (++seen_ > limits_.max_entries) {
      refused = fail(Code::kParse, "the folder has at least ", counted(seen_, "file"),
                     ": the limit is ", limits_.max_entries)
                    .at(root_, 0)
                    .hint(raise_load_limit("max_entries"));
    } else if (!name.starts_with(".")) {
      system::Info info;
      const std::string full = str_cat(path, "/", name);
      if (!system::stat_name(full, &info)) {
        refused = system_error("cannot read", full);
      } else if (info.kind == system::Kind::kFolder || info.kind == system::Kind::kFile) {
        found.push_back({std::string(name), info.kind == system::Kind::kFolder});
      }
    }
    return refused.ok();
  });
  RILL_TRY(refused);
  if (!listed) return system_error("cannot read folder", path);
  sort_list(found, [](const Found& a, const Found& b) { return a.name < b.name; });
  return found;
}

Status FolderReader::add(const std::string& name) {
  const std::string full = str_cat(root_, "/", name);
  RILL_ASSIGN(const int descriptor, open_for_reading(full));
  Source file(descriptor, 0, full);
  system::Info info;
  const bool known = system::stat_open(descriptor, &info) && info.kind == system::Kind::kFile;
  if (known && info.bytes > bytes_left_) {
    const int64_t read = limits_.max_expanded_bytes - bytes_left_;
    return model_too_large(root_, checked_add(read, info.bytes).value_or(info.bytes),
                     limits_.max_expanded_bytes);
  }
  if (map_files_ && known && is_large_tensor(name, info.bytes)) {
    file.set_size(info.bytes);
    file.map();
  }
  Entry entry{name, {}, file.mapped()};
  if (!entry.mapped.data) {
    RILL_ASSIGN(entry.bytes, read_model_descriptor(descriptor, full, bytes_left_));
  }
  bytes_left_ -= static_cast<int64_t>(std::max(entry.bytes.size(), entry.mapped.size));
  entries_.push_back(std::move(entry));
  return {};
}

Status FolderReader::read(const std::string& below, int depth,
                          const std::function<bool(std::string_view)>* wanted) {
  if (depth > limits_.max_folder_depth) {
    return fail(Code::kParse, "folders nested over ", limits_.max_folder_depth, " deep")
        .at(str_cat(root_, "/", below), 0);
  }
  RILL_ASSIGN(const std::vector<Found> found, list(below.empty() ? root_ : root_ + "/" + below));
  for (const Found& item : found) {
    const std::string name = below.empty() ? item.name : str_cat(below, "/", item.name);
    if (wanted != nullptr && (item.is_folder || !(*wanted)(item.name))) continue;
    RILL_TRY(item.is_folder ? read(name, depth + 1, wanted) : add(name));
  }
  return {};
}

bool has_graph(const std::string& folder) {
  system::Info info;
  return system::stat_name(str_cat(folder, "/graph.nnef"), &info) &&
         info.kind == system::Kind::kFile;
}

/// Do not search other folders: the folder may be the root of a disk.
Status FolderReader::expect_graph() {
  if (has_graph(root_)) return {};
  Status status = fail(Code::kParse, "Resource graph.nnef was not found in the model").at(root_, 0);
  const auto found = list(root_);
  for (size_t i = 0; found.ok() && i < found->size(); ++i) {
    const std::string& name = (*found)[i].name;
    if (!(*found)[i].is_folder || !has_graph(str_cat(root_, "/", name))) continue;
    return std::move(status).hint(
        str_cat("There is \"", name, "/graph.nnef\": name its folder, not its parent"));
  }
  return status;
}

}  // namespace

Result<std::vector<Entry>> read_folder(const std::string& path, const LoadLimits& limits,
                                       bool map_files) {
  FolderReader reader(path, limits, map_files);
  RILL_TRY(reader.expect_graph());
  RILL_TRY(reader.read("", 0, nullptr));
  return reader.take();
}

Result<std::vector<Entry>> read_siblings(const std::string& folder, const LoadLimits& limits,
                                         bool map_files,
                                         const std::function<bool(std::string_view)>& wanted) {
  FolderReader reader(folder, limits, map_files);
  RILL_TRY(reader.read("", 0, &wanted));
  return reader.take();
}

}  // namespace rill::nnef
