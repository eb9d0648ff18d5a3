#include "nnef_loader/archive/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "nnef_loader/archive/gzip_trailer.h"
#include "nnef_loader/archive/memory_left.h"
#include "nnef_loader/archive/utf8_locale.h"

namespace rill::nnef {
namespace {

constexpr size_t kReadBytes = size_t{64} << 10;
constexpr int64_t kTarBlock = 512;

struct ReadFree {
  void operator()(archive* a) const { archive_read_free(a); }
};
using ReadHandle = std::unique_ptr<archive, ReadFree>;

// libarchive does not check the allocation of a header that it makes itself.
struct HeaderFree {
  void operator()(archive_entry* e) const { archive_entry_free(e); }
};
using HeaderHandle = std::unique_ptr<archive_entry, HeaderFree>;

Status no_memory(const Source& source) {
  return fail(Code::kNoMem, "no memory to read ", source.name());
}

Status damaged(archive* a, std::string_view what, const std::string& file) {
  if (archive_errno(a) == ENOMEM) return fail(Code::kNoMem, "no memory to read ", file);
  const char* const reason = archive_error_string(a);
  // If data ends early, libarchive reports internal states that do not help a user.
  const bool own = reason == nullptr || std::string_view(reason).starts_with("INTERNAL ERROR");
  return fail(Code::kParse, what, " is damaged or cut short", own ? "" : ": ", own ? "" : reason)
      .at(file, 0);
}

Status open(archive* a, const Source& source, std::string_view what) {
  int code = ARCHIVE_OK;
  if (source.in_memory()) {
    // libarchive treats a null pointer as an error even if there is nothing to read.
    static constexpr std::byte kNothing{0};
    const void* const bytes = source.memory().empty() ? &kNothing : source.memory().data();
    code = archive_read_open_memory(a, bytes, source.memory().size());
  } else {
    if (lseek(source.descriptor(), 0, SEEK_SET) != 0) {
      return system_error("cannot read", source.name());
    }
    code = archive_read_open_fd(a, source.descriptor(), kReadBytes);
  }
  if (code == ARCHIVE_OK || code == ARCHIVE_WARN) return {};
  return damaged(a, what, source.name());
}

/// Return the name in UTF-8 if the archive declares it as such, else its bytes.
std::string_view raw_name(archive_entry* header) {
  const char* name = archive_entry_pathname_utf8(header);
  if (name == nullptr) name = archive_entry_pathname(header);
  return name == nullptr ? std::string_view() : std::string_view(name);
}

bool is_regular(archive_entry* header) {
  return archive_entry_filetype(header) == AE_IFREG && archive_entry_hardlink(header) == nullptr &&
         archive_entry_symlink(header) == nullptr;
}

/// Reads the entries of an open archive.
class Unpacker {
 public:
  Unpacker(archive* a, std::string_view what, const Source& source, Budget* budget, NameRule rule)
      : archive_(a), what_(what), source_(source), budget_(*budget), rule_(rule) {}

  Result<std::vector<Entry>> entries();
  /// Return whether blocks of zeros followed the last entry of a tar.
  bool saw_end_mark() const { return saw_end_mark_; }

 private:
  Status entry(archive_entry* header);
  Result<std::vector<std::byte>> data(archive_entry* header, const std::string& name);

  archive* archive_;
  std::string_view what_;
  const Source& source_;
  Budget& budget_;
  NameRule rule_;
  std::vector<Entry> entries_;
  bool saw_end_mark_ = false;
};

Result<std::vector<Entry>> Unpacker::entries() {
  const HeaderHandle header(archive_entry_new());
  if (!header) return no_memory(source_);
  for (;;) {
    const int64_t before = archive_filter_bytes(archive_, 0);
    const int code = archive_read_next_header2(archive_, header.get());
    if (code == ARCHIVE_EOF) {
      const int64_t padded = (before + kTarBlock - 1) / kTarBlock * kTarBlock;
      saw_end_mark_ = archive_filter_bytes(archive_, 0) >= padded + kTarBlock;
      RILL_TRY(check_unique(entries_, Code::kParse).at(source_.name(), 0));
      return std::move(entries_);
    }
    if (code != ARCHIVE_OK && code != ARCHIVE_WARN) {
      return damaged(archive_, what_, source_.name());
    }
    RILL_TRY(budget_.take_entry());
    RILL_TRY(entry(header.get()));
    // Otherwise the remainder of an entry would count as the end mark.
    const int skipped = archive_read_data_skip(archive_);
    if (skipped != ARCHIVE_OK && skipped != ARCHIVE_EOF) {
      return damaged(archive_, what_, source_.name());
    }
  }
}

Status Unpacker::entry(archive_entry* header) {
  if (!is_regular(header)) return {};
  const std::string_view raw = raw_name(header);
  if (raw.empty()) {
    return fail(Code::kParse, "an entry has no name, or one that is not UTF-8")
        .at(source_.name(), 0);
  }
  RILL_ASSIGN(std::optional<std::string> name, entry_name(raw, rule_));
  if (!name) return {};
  if (archive_entry_is_encrypted(header) != 0) {
    return fail(Code::kUnsupported, "entry \"", *name, "\" is encrypted").at(source_.name(), 0);
  }
  RILL_ASSIGN(std::vector<std::byte> bytes, data(header, *name));
  entries_.push_back({std::move(*name), std::move(bytes)});
  return {};
}

Result<std::vector<std::byte>> Unpacker::data(archive_entry* header, const std::string& name) {
  std::vector<std::byte> bytes;
  const bool has_size = archive_entry_size_is_set(header) != 0;
  const int64_t claimed = has_size ? archive_entry_size(header) : 0;
  bytes.reserve(static_cast<size_t>(budget_.trusted(claimed)));
  for (;;) {
    const void* block = nullptr;
    size_t size = 0;
    la_int64_t offset = 0;
    const int code = archive_read_data_block(archive_, &block, &size, &offset);
    if (code == ARCHIVE_EOF) break;
    if (code != ARCHIVE_OK) {
      return damaged(archive_, str_cat(what_, ", entry \"", name, "\","), source_.name());
    }
    if (size == 0) continue;
    if (offset != static_cast<la_int64_t>(bytes.size())) {
      return fail(Code::kUnsupported, "entry \"", name, "\" is a sparse file")
          .at(source_.name(), 0);
    }
    RILL_TRY(budget_.take(static_cast<int64_t>(size)));
    const auto* const first = static_cast<const std::byte*>(block);
    bytes.insert(bytes.end(), first, first + size);
  }
  if (has_size && claimed != static_cast<int64_t>(bytes.size())) {
    return fail(Code::kParse, "entry \"", name, "\" has ", bytes.size(), " bytes, expected ",
                claimed)
        .at(source_.name(), 0);
  }
  return bytes;
}

/// The inflated bytes of a gzip file, counted and summed while the tar reader pulls them.
struct GzipStream {
  archive* raw = nullptr;
  const Source* source = nullptr;
  const Budget* budget = nullptr;
  uint64_t most = 0;
  Crc32 crc;
  uint64_t total = 0;
  Status failure;

  /// Return the size of the next piece; 0 at the end, or -1 with `failure` set.
  la_ssize_t next(const void** piece) {
    for (;;) {
      size_t size = 0;
      la_int64_t offset = 0;
      const int code = archive_read_data_block(raw, piece, &size, &offset);
      if (code == ARCHIVE_EOF) return 0;
      if (code != ARCHIVE_OK) {
        failure = damaged(raw, "gzip data", source->name());
        return -1;
      }
      if (size == 0) continue;
      total += size;
      if (total > most) {
        failure = budget->refuse(static_cast<int64_t>(total));
        return -1;
      }
      crc.update({static_cast<const std::byte*>(*piece), size});
      return static_cast<la_ssize_t>(size);
    }
  }
};

la_ssize_t pull_gzip(archive* a, void* client, const void** piece) {
  auto* const stream = static_cast<GzipStream*>(client);
  const la_ssize_t size = stream->failure.ok() ? stream->next(piece) : -1;
  if (size < 0) archive_set_error(a, EINVAL, "gzip data is damaged");
  return size;
}

/// Return whether a zip consists only of its end record, which libarchive does not recognise.
Result<bool> is_empty_zip(const Source& source) {
  constexpr size_t kEndRecordBytes = 22;
  constexpr size_t kCountAt = 8;
  std::array<std::byte, kEndRecordBytes> record{};
  RILL_ASSIGN(const size_t got, source.read_at(0, record));
  return got == kEndRecordBytes && std::memcmp(record.data(), "PK\x05\x06", 4) == 0 &&
         std::all_of(record.begin() + kCountAt, record.end() - 2,
                     [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

Result<std::vector<Entry>> unpack_tar(const Source& source, Budget* budget) {
  RILL_TRY(memory_for_libarchive("read", source.name()));
  const Utf8Locale locale;
  const ReadHandle handle(archive_read_new());
  if (!handle) return no_memory(source);
  archive_read_support_format_tar(handle.get());
  archive_read_support_format_empty(handle.get());
  RILL_TRY(open(handle.get(), source, "tar"));
  Unpacker unpacker(handle.get(), "tar", source, budget, NameRule::kPath);
  RILL_ASSIGN(std::vector<Entry> entries, unpacker.entries());
  if (!unpacker.saw_end_mark()) {
    return fail(Code::kParse, "tar is cut short: it has no end mark").at(source.name(), 0);
  }
  return entries;
}

Result<std::vector<Entry>> unpack_tgz(const Source& source, Budget* budget) {
  RILL_TRY(memory_for_libarchive("read", source.name()));
  const ReadHandle raw(archive_read_new());
  const Utf8Locale locale;
  const ReadHandle handle(archive_read_new());
  if (!raw || !handle) return no_memory(source);
  archive_read_support_format_raw(raw.get());
  archive_read_support_format_empty(raw.get());
  // A fixed filter: by default libarchive would also inflate gzip data inside gzip data.
  archive_read_append_filter(raw.get(), ARCHIVE_FILTER_GZIP);
  RILL_TRY(open(raw.get(), source, "gzip data"));
  const HeaderHandle header(archive_entry_new());
  if (!header) return no_memory(source);
  const int code = archive_read_next_header2(raw.get(), header.get());
  if (code != ARCHIVE_OK && code != ARCHIVE_EOF) {
    return damaged(raw.get(), "gzip data", source.name());
  }
  GzipStream stream;
  stream.raw = raw.get();
  stream.source = &source;
  stream.budget = budget;
  // Allow for the tar's own bytes: headers, names, padding.
  stream.most = static_cast<uint64_t>(budget->left()) + (uint64_t{16} << 20);
  archive_read_support_format_tar(handle.get());
  if (archive_read_open(handle.get(), &stream, nullptr, pull_gzip, nullptr) != ARCHIVE_OK) {
    if (!stream.failure.ok()) return stream.failure;
    return fail(Code::kParse, "gzip data holds no tar").at(source.name(), 0);
  }
  Unpacker unpacker(handle.get(), "tar", source, budget, NameRule::kPath);
  Result<std::vector<Entry>> entries = unpacker.entries();
  if (!stream.failure.ok()) return stream.failure;
  if (!entries.ok()) return entries;
  const void* piece = nullptr;
  while (stream.next(&piece) > 0) {
  }
  if (!stream.failure.ok()) return stream.failure;
  RILL_TRY(check_gzip_trailer(source, stream.crc, stream.total));
  return entries;
}

Result<std::vector<Entry>> unpack_zip(const Source& source, Budget* budget, NameRule rule) {
  RILL_TRY(memory_for_libarchive("read", source.name()));
  const Utf8Locale locale;
  const ReadHandle handle(archive_read_new());
  if (!handle) return no_memory(source);
  RILL_ASSIGN(const bool empty, is_empty_zip(source));
  if (empty) return std::vector<Entry>();
  // Use the reader of the directory at the end, which a truncated zip lacks.
  archive_read_support_format_zip_seekable(handle.get());
  RILL_TRY(open(handle.get(), source, "zip"));
  return Unpacker(handle.get(), "zip", source, budget, rule).entries();
}

}  // namespace rill::nnef
