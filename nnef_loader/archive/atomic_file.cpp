#include "nnef_loader/archive/atomic_file.h"

#include <cerrno>
#include <utility>

#include "nnef_loader/archive/archive.h"
#include "nnef_loader/archive/source.h"
#include "nnef_loader/system/files.h"

namespace rill::nnef {
namespace {

constexpr int kAttempts = 1000;

}  // namespace

std::string sibling_name(const std::string& path, int attempt) {
  std::string base = path;
  while (base.size() > 1 && system::kSeparators.find(base.back()) != std::string_view::npos) {
    base.pop_back();
  }
  const size_t slash = base.find_last_of(system::kSeparators);
  const size_t at = slash == std::string::npos ? 0 : slash + 1;
  return str_cat(base.substr(0, at), ".", base.substr(at), ".", system::process_id(), ".", attempt,
                 ".tmp");
}

Status already_exists(const std::string& path) {
  return fail(Code::kArg, "\"", path, "\" already exists. Won't overwrite.");
}

Result<AtomicFile> AtomicFile::create(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos) {
    return fail(Code::kArg, "expected a path to write to, found \"", path, "\"");
  }
  AtomicFile file;
  file.path_ = path;
  system::Info info;
  const bool exists = system::stat_target(path, &info);
  if (exists && info.kind == system::Kind::kFolder) return already_exists(path);
  if (exists && info.kind != system::Kind::kFile) {
    // Renaming onto /dev/null or a pipe would replace it by a file.
    file.descriptor_ = system::open_to_write(path);
    if (file.descriptor_ < 0) return system_error("cannot write", path);
    return file;
  }
  for (int attempt = 0; attempt < kAttempts && file.descriptor_ < 0; ++attempt) {
    file.temporary_ = sibling_name(path, attempt);
    file.descriptor_ = system::create(file.temporary_);
    if (file.descriptor_ < 0 && errno != EEXIST) break;
  }
  if (file.descriptor_ < 0) {
    file.temporary_.clear();
    return system_error("cannot write", path);
  }
  return file;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) system::close(descriptor_);
  if (!temporary_.empty()) system::remove_file(temporary_);
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const int64_t done = system::write(descriptor_, bytes);
    if (done < 0) return system_error("cannot write", path_);
    bytes = bytes.subspan(static_cast<size_t>(done));
  }
  return {};
}

Status AtomicFile::commit() {
  const bool renames = !temporary_.empty();
  // Sync the bytes to disk before the name refers to them.
  if (renames && !system::sync(descriptor_)) return system_error("cannot write", path_);
  if (!system::close_written(std::exchange(descriptor_, -1))) {
    return system_error("cannot write", path_);
  }
  if (!renames) return {};
  if (!system::rename_over(temporary_, path_)) return system_error("cannot write", path_);
  temporary_.clear();
  return {};
}

Status write_file(const std::string& path, std::span<const std::byte> bytes) {
  RILL_ASSIGN(AtomicFile file, AtomicFile::create(path));
  RILL_TRY(file.write(bytes));
  return file.commit();
}

}  // namespace rill::nnef
