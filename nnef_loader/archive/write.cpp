#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <set>

#include "nnef_loader/archive/archive.h"
#include "nnef_loader/archive/atomic_file.h"
#include "nnef_loader/archive/entry_names.h"
#include "nnef_loader/archive/room.h"
#include "nnef_loader/archive/source.h"
#include "nnef_loader/archive/utf8_locale.h"

namespace rill::nnef {
namespace {

struct WriteFree {
  void operator()(archive* a) const { archive_write_free(a); }
};
using WriteHandle = std::unique_ptr<archive, WriteFree>;

struct EntryFree {
  void operator()(archive_entry* e) const { archive_entry_free(e); }
};
using EntryHandle = std::unique_ptr<archive_entry, EntryFree>;

Status refused(archive* a, const std::string& path) {
  const char* const reason = archive_error_string(a);
  return fail(Code::kIo, "cannot write ", path, ": ", reason == nullptr ? "?" : reason);
}

struct Sink {
  AtomicFile* file = nullptr;
  Status failure;
};

la_ssize_t push(archive* a, void* client, const void* bytes, size_t size) {
  auto* const sink = static_cast<Sink*>(client);
  if (sink->failure.ok()) {
    sink->failure = sink->file->write({static_cast<const std::byte*>(bytes), size});
  }
  if (sink->failure.ok()) return static_cast<la_ssize_t>(size);
  archive_set_error(a, EIO, "cannot write");
  return -1;
}

/// Check that `read_archive` would give back just these names.
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

int set_format(archive* a, Container container) {
  if (container == Container::kZip) {
    const int code = archive_write_set_format_zip(a);
    return std::min(code, archive_write_zip_set_compression_deflate(a));
  }
  int code = archive_write_set_format_gnutar(a);
  if (container == Container::kTgz) {
    code = std::min(code, archive_write_add_filter_gzip(a));
    // Otherwise the time of writing goes into the gzip header.
    code = std::min(code, archive_write_set_filter_option(a, "gzip", "timestamp", nullptr));
  }
  return code;
}

Status write_entry(archive* a, const Entry& entry, const std::string& path) {
  const EntryHandle header(archive_entry_new());
  if (!header) return fail(Code::kNoMem, "no memory to write ", path);
  archive_entry_set_pathname(header.get(), entry.name.c_str());
  archive_entry_set_filetype(header.get(), AE_IFREG);
  archive_entry_set_perm(header.get(), 0644);
  archive_entry_set_size(header.get(), static_cast<la_int64_t>(entry.bytes.size()));
  archive_entry_set_mtime(header.get(), 0, 0);
  archive_entry_set_uid(header.get(), 0);
  archive_entry_set_gid(header.get(), 0);
  const int code = archive_write_header(a, header.get());
  if (code != ARCHIVE_OK && code != ARCHIVE_WARN) return refused(a, path);
  size_t done = 0;
  while (done < entry.bytes.size()) {
    const la_ssize_t wrote =
        archive_write_data(a, entry.bytes.data() + done, entry.bytes.size() - done);
    if (wrote <= 0) return refused(a, path);
    done += static_cast<size_t>(wrote);
  }
  return {};
}

Status write_entries(archive* a, Container container, std::span<const Entry> entries,
                     const std::string& path, Sink* sink) {
  if (set_format(a, container) < ARCHIVE_OK) return refused(a, path);
  // Padding to whole tape blocks is of use for tar files alone.
  if (container != Container::kTar) archive_write_set_bytes_in_last_block(a, 1);
  if (archive_write_open(a, sink, nullptr, push, nullptr) != ARCHIVE_OK) return refused(a, path);
  for (const Entry& entry : entries) RILL_TRY(write_entry(a, entry, path));
  if (archive_write_close(a) != ARCHIVE_OK) return refused(a, path);
  return {};
}

Status write_packed(const std::string& path, Container container, std::span<const Entry> entries) {
  RILL_TRY(room_for_libarchive("write", path));
  RILL_ASSIGN(AtomicFile file, AtomicFile::create(path));
  const Utf8Locale locale;
  Sink sink{&file, {}};  // outlives the handle, which writes what is left when it is freed
  const WriteHandle handle(archive_write_new());
  if (!handle) return fail(Code::kNoMem, "no memory to write ", path);
  const Status written = write_entries(handle.get(), container, entries, path, &sink);
  if (!sink.failure.ok()) return sink.failure;
  RILL_TRY(written);
  return file.commit();
}

/// A folder being filled under a temporary name; removed unless it is kept.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& target) : target_(target) {}
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  Status create();
  Status add(const Entry& entry);
  Status keep();

 private:
  const std::string& target_;
  std::string path_;
  std::vector<std::string> files_;
  std::set<std::string> folders_;  ///< parents come before their children
};

TemporaryFolder::~TemporaryFolder() {
  if (path_.empty()) return;
  for (const std::string& file : files_) unlink(file.c_str());
  for (auto folder = folders_.rbegin(); folder != folders_.rend(); ++folder) rmdir(folder->c_str());
  rmdir(path_.c_str());
}

Status TemporaryFolder::create() {
  struct stat info {};
  if (lstat(target_.c_str(), &info) == 0) return already_exists(target_);
  constexpr int kAttempts = 1000;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::string path = sibling_name(target_, attempt);
    if (mkdir(path.c_str(), 0777) == 0) {
      path_ = path;
      return {};
    }
    if (errno != EEXIST) break;
  }
  return system_error("cannot write folder", target_);
}

Status TemporaryFolder::add(const Entry& entry) {
  for (size_t slash = entry.name.find('/'); slash != std::string::npos;
       slash = entry.name.find('/', slash + 1)) {
    std::string folder = str_cat(path_, "/", entry.name.substr(0, slash));
    if (folders_.contains(folder)) continue;
    if (mkdir(folder.c_str(), 0777) != 0) return system_error("cannot write", folder);
    folders_.insert(std::move(folder));
  }
  files_.push_back(str_cat(path_, "/", entry.name));
  return write_file(files_.back(), entry.bytes);
}

Status TemporaryFolder::keep() {
  struct stat info {};
  // Renaming would replace an empty folder that has come up meanwhile.
  if (lstat(target_.c_str(), &info) == 0) return already_exists(target_);
  if (std::rename(path_.c_str(), target_.c_str()) != 0) {
    return system_error("cannot write folder", target_);
  }
  path_.clear();
  return {};
}

Status write_folder(const std::string& path, std::span<const Entry> entries) {
  TemporaryFolder folder(path);
  RILL_TRY(folder.create());
  for (const Entry& entry : entries) RILL_TRY(folder.add(entry));
  return folder.keep();
}

}  // namespace

Status write_archive(const std::string& path, Container container, std::span<const Entry> entries) {
  RILL_TRY(check_names(entries, NameRule::kPath));
  if (container == Container::kFolder) return write_folder(path, entries);
  return write_packed(path, container, entries);
}

Status write_keyed_zip(const std::string& path, std::span<const Entry> entries) {
  RILL_TRY(check_names(entries, NameRule::kKey));
  return write_packed(path, Container::kZip, entries);
}

}  // namespace rill::nnef
