#include <algorithm>
#include <filesystem>

#include "cli/bundle.h"
#include "nnef_loader/archive/archive.h"
#include "nnef_loader/tensor_file/tensor_file.h"

namespace rill::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".dat";
constexpr int64_t kMostBytes = int64_t{4} << 30;  // the maximum that the header can represent

Result<std::vector<std::pair<std::string, Tensor>>> read_folder(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return fail(Code::kIo, "File not found ", folder.string(), ": expected a folder of .dat files");
  }
  std::vector<fs::path> files;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == kSuffix) files.push_back(it->path());
  }
  if (error) return fail(Code::kIo, folder.string(), ": ", error.message());
  std::sort(files.begin(), files.end());
  std::vector<std::pair<std::string, Tensor>> out;
  for (const fs::path& file : files) {
    RILL_ASSIGN(const std::vector<std::byte> bytes, nnef::read_file(file.string(), kMostBytes));
    RILL_ASSIGN(Tensor tensor, nnef::read_tensor(bytes, file.string()));
    out.emplace_back(file.stem().string(), std::move(tensor));
  }
  return out;
}

/// Check that a name stays within the folder.
Status check_name(const std::string& name) {
  const fs::path path(name);
  const bool leaves =
      path.is_absolute() ||
      std::any_of(path.begin(), path.end(), [](const fs::path& piece) { return piece == ".."; });
  if (!name.empty() && !leaves) return {};
  return fail(Code::kArg, "output \"", name, "\": expected a name of a file in the folder");
}

}  // namespace

Status Bundle::add_folder(const std::string& path) {
  RILL_ASSIGN(const auto first, read_folder(path));
  for (const auto& [name, tensor] : first) put(name, 0, tensor);
  for (size_t turn = 0;; ++turn) {
    const fs::path folder = fs::path(path) / str_cat("turn_", turn);
    std::error_code error;
    if (!fs::is_directory(folder, error)) return {};
    RILL_ASSIGN(const auto later, read_folder(folder));
    for (const auto& [name, tensor] : later) put(name, turn, tensor);
  }
}

Status write_turn_files(const std::string& folder, std::span<const std::string> names,
                        std::span<const std::vector<Tensor>> turns) {
  for (size_t turn = 0; turn < turns.size(); ++turn) {
    for (size_t i = 0; i < names.size(); ++i) {
      RILL_TRY(check_name(names[i]));
      fs::path path(folder);
      if (turns.size() > 1) path /= str_cat("turn_", turn);
      path /= names[i] + std::string(kSuffix);
      std::error_code error;
      fs::create_directories(path.parent_path(), error);
      if (error) return fail(Code::kIo, path.string(), ": ", error.message());
      auto bytes = nnef::write_tensor(turns[turn][i]);
      if (!bytes.ok()) return bytes.take_status().in_node(names[i], "");
      RILL_TRY(nnef::write_file(path.string(), *bytes));
    }
  }
  return {};
}

}  // namespace rill::cli
