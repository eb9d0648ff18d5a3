#include <cerrno>
#include <set>

#include "nnef_loader/archive/archive.h"
#include "nnef_loader/archive/atomic_file.h"
#include "nnef_loader/archive/entry_names.h"
#include "nnef_loader/archive/pack.h"
#include "nnef_loader/archive/source.h"
#include "nnef_loader/system/files.h"

namespace rill::nnef {
namespace {

/// Check that `read_archive` would return exactly these names.
Status check_names(std::span<const Entry> entries, NameRule rule) {
  for (const Entry& entry : entries) {
    if (entry.name.find('\0') != std::string::npos || entry.name.ends_with('/')) {
      return fail(Code::kArg, "entry \"", entry.name, "\" cannot be written under this name");
    }
    const Result<std::optional<std::string>> name = entry_name(entry.name, rule);
    if (!name.ok()) return fail(Code::kArg, name.error().message);
    if (!*name || **name != entry.name) {
      return fail(Code::kArg, "entry \"", entry.name, "\" has a name that readers leave out");
    }
  }
  return check_unique(entries, Code::kArg);
}

Status write_packed(const std::string& path, Container container, std::span<const Entry> entries,
                    const CheckWritten& check) {
  RILL_ASSIGN(AtomicFile file, AtomicFile::create(path));
  RILL_TRY(pack(container, entries, path, &file));
  if (check && !file.temporary().empty()) RILL_TRY(check(file.temporary()));
  return file.commit();
}

/// A folder that is filled under a temporary name; the destructor removes it unless `keep` was
/// called.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& target) : target_(target) {}
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  Status create();
  Status add(const Entry& entry);
  Status keep();
  const std::string& path() const { return path_; }

 private:
  const std::string& target_;
  std::string path_;
  std::vector<std::string> files_;
  std::set<std::string> folders_;  ///< parents come before their children
};

TemporaryFolder::~TemporaryFolder() {
  if (path_.empty()) return;
  for (const std::string& file : files_) system::remove_file(file);
  for (auto folder = folders_.rbegin(); folder != folders_.rend(); ++folder) {
    system::remove_folder(*folder);
  }
  system::remove_folder(path_);
}

Status TemporaryFolder::create() {
  system::Info info;
  if (system::stat_name(target_, &info)) return already_exists(target_);
  constexpr int kAttempts = 1000;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::string path = sibling_name(target_, attempt);
    if (system::make_folder(path)) {
      path_ = path;
      return {};
    }
    if (errno != EEXIST) break;
  }
  return system_error("cannot write folder", target_);
}

Status TemporaryFolder::add(const Entry& entry) {
  if (!system::can_hold(entry.name)) {
    return fail(Code::kArg, "entry \"", entry.name, "\" cannot be a file of this system")
        .hint("Write an archive instead of a folder");
  }
  for (size_t slash = entry.name.find('/'); slash != std::string::npos;
       slash = entry.name.find('/', slash + 1)) {
    std::string folder = str_cat(path_, "/", entry.name.substr(0, slash));
    if (folders_.contains(folder)) continue;
    if (!system::make_folder(folder)) return system_error("cannot write", folder);
    folders_.insert(std::move(folder));
  }
  files_.push_back(str_cat(path_, "/", entry.name));
  return write_file(files_.back(), entry.bytes);
}

Status TemporaryFolder::keep() {
  system::Info info;
  // Renaming would replace an empty folder that appeared meanwhile.
  if (system::stat_name(target_, &info)) return already_exists(target_);
  if (!system::rename_over(path_, target_)) return system_error("cannot write folder", target_);
  path_.clear();
  return {};
}

Status write_folder(const std::string& path, std::span<const Entry> entries,
                    const CheckWritten& check) {
  TemporaryFolder folder(path);
  RILL_TRY(folder.create());
  for (const Entry& entry : entries) RILL_TRY(folder.add(entry));
  if (check) RILL_TRY(check(folder.path()));
  return folder.keep();
}

}  // namespace

Status write_archive(const std::string& path, Container container, std::span<const Entry> entries,
                     const CheckWritten& check) {
  RILL_TRY(check_names(entries, NameRule::kPath));
  if (container == Container::kFolder) return write_folder(path, entries, check);
  return write_packed(path, container, entries, check);
}

Status write_keyed_zip(const std::string& path, std::span<const Entry> entries) {
  RILL_TRY(check_names(entries, NameRule::kKey));
  return write_packed(path, Container::kZip, entries, {});
}

}  // namespace rill::nnef
