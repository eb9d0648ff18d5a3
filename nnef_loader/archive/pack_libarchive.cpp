#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "nnef_loader/archive/pack.h"
#include "nnef_loader/archive/memory_left.h"
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

int set_format(archive* a, Container container) {
  if (container == Container::kZip) {
    const int code = archive_write_set_format_zip(a);
    return std::min(code, archive_write_zip_set_compression_deflate(a));
  }
  int code = archive_write_set_format_gnutar(a);
  if (container == Container::kTgz) {
    code = std::min(code, archive_write_add_filter_gzip(a));
    // Otherwise libarchive writes the current time into the gzip header.
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
  // Only plain tar files are padded to whole tape blocks.
  if (container != Container::kTar) archive_write_set_bytes_in_last_block(a, 1);
  if (archive_write_open(a, sink, nullptr, push, nullptr) != ARCHIVE_OK) return refused(a, path);
  for (const Entry& entry : entries) RILL_TRY(write_entry(a, entry, path));
  if (archive_write_close(a) != ARCHIVE_OK) return refused(a, path);
  return {};
}

}  // namespace

Status pack(Container container, std::span<const Entry> entries, const std::string& path,
            AtomicFile* file) {
  RILL_TRY(memory_for_libarchive("write", path));
  const Utf8Locale locale;
  Sink sink{file, {}};  // outlives the handle, which flushes when it is freed
  const WriteHandle handle(archive_write_new());
  if (!handle) return fail(Code::kNoMem, "no memory to write ", path);
  const Status written = write_entries(handle.get(), container, entries, path, &sink);
  return sink.failure.ok() ? written : sink.failure;
}

}  // namespace rill::nnef
