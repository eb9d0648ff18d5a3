#include "nnef_loader/archive/tar_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>

#include "core/base/search.h"
#include "core/base/utf8.h"
#include "nnef_loader/archive/entry_names.h"
#include "nnef_loader/archive/tar_header.h"

namespace rill::nnef {
namespace {

/// Longer names and pax records count as damage.
constexpr int64_t kMostExtensionBytes = int64_t{1} << 20;
constexpr size_t kPieceBytes = size_t{64} << 10;

using Block = std::array<std::byte, kTarBlockBytes>;

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool is_zero(const Block& block) {
  return all_of(block, [](std::byte b) { return b == std::byte{0}; });
}

/// Bodies are padded to whole blocks.
int64_t padding(int64_t size) {
  constexpr int64_t kBlock = kTarBlockBytes;
  return (kBlock - size % kBlock) % kBlock;
}

/// Properties of an entry from its extension headers.
struct Extension {
  std::optional<std::string> gnu_name;
  std::optional<std::string> path;
  std::optional<int64_t> size;
};

class TarReader {
 public:
  TarReader(InStream* in, std::string_view packing, const std::string& file, Budget* budget)
      : in_(*in), packing_(packing), file_(file), budget_(*budget) {}

  Result<std::vector<Entry>> entries();

 private:
  Status cut_short() const { return fail(Code::kParse, "tar is cut short").at(file_, 0); }
  Status refused(const std::string& name, std::string_view why) const {
    return fail(Code::kUnsupported, "entry \"", name, "\" ", why).at(file_, 0);
  }

  /// Read a header into `block_`; return false at the end mark.
  Result<bool> next_header();
  Status header();
  Status extension(char type, int64_t size);
  Status records(std::string_view text, bool for_all);
  Status record(std::string_view key, std::string_view value, bool for_all);
  Status entry(char type, int64_t size);
  std::string name_in_header() const;
  Result<std::vector<std::byte>> data(int64_t size, int64_t trusted);
  Status skip(int64_t bytes);
  Status skip_body(int64_t size);
  Status drain();

  InStream& in_;
  std::string_view packing_;
  const std::string& file_;
  Budget& budget_;
  Block block_{};
  Extension extension_;
  bool extended_ = false;  ///< an extension waits for its entry
  bool any_header_ = false;
  std::vector<std::byte> dropped_;
  std::vector<Entry> entries_;
};

Result<std::vector<Entry>> TarReader::entries() {
  for (;;) {
    RILL_ASSIGN(const bool more, next_header());
    if (!more) break;
    RILL_TRY(header());
  }
  if (extended_) return cut_short();
  RILL_TRY(drain());
  RILL_TRY(check_unique(entries_, Code::kParse).at(file_, 0));
  return std::move(entries_);
}

Result<bool> TarReader::next_header() {
  RILL_ASSIGN(const size_t got, in_.read(block_));
  if (got == block_.size() && is_zero(block_)) return false;
  const bool is_tar = got == block_.size() && tar_checksum_fits(text_of(block_));
  if (is_tar) {
    any_header_ = true;
    return true;
  }
  if (!any_header_) return fail(Code::kParse, packing_, " holds no tar").at(file_, 0);
  if (got == 0) return fail(Code::kParse, "tar is cut short: it has no end mark").at(file_, 0);
  if (got < block_.size()) return cut_short();
  return fail(Code::kParse, "tar is damaged: the checksum of a header does not fit").at(file_, 0);
}

Status TarReader::header() {
  const std::string_view block = text_of(block_);
  const std::optional<int64_t> size = tar_number(kTarSize.of(block));
  if (!size) {
    return fail(Code::kParse, "tar is damaged: entry \"", name_in_header(), "\" has no valid size")
        .at(file_, 0);
  }
  const char type = block[kTarTypeAt];
  // The target of a link, which is skipped anyway.
  if (type == 'K') return skip_body(*size);
  if (type == 'L' || type == 'x' || type == 'X' || type == 'g') return extension(type, *size);
  RILL_TRY(budget_.take_entry());
  const Status status = entry(type, *size);
  extension_ = {};
  extended_ = false;
  return status;
}

Status TarReader::extension(char type, int64_t size) {
  if (size > kMostExtensionBytes) {
    return fail(Code::kParse, "tar is damaged: a header of ", size, " bytes, at most ",
                kMostExtensionBytes, " are read")
        .at(file_, 0);
  }
  RILL_ASSIGN(const std::vector<std::byte> bytes, data(size, std::min<int64_t>(size, 4096)));
  if (type == 'g') return records(text_of(bytes), true);
  extended_ = true;
  if (type != 'L') return records(text_of(bytes), false);
  extension_.gnu_name = std::string(tar_text(text_of(bytes)));
  return {};
}

/// Read pax records, `LENGTH KEY=VALUE\n`. The length counts the whole record.
Status TarReader::records(std::string_view text, bool for_all) {
  const auto wrong = [this] {
    return fail(Code::kParse, "tar is damaged: a pax record is malformed").at(file_, 0);
  };
  while (!text.empty()) {
    size_t length = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    const auto digits = static_cast<size_t>(end - text.data());
    if (error != std::errc() || length > text.size() || length < digits + 2) return wrong();
    if (text[digits] != ' ' || text[length - 1] != '\n') return wrong();
    const std::string_view body = text.substr(digits + 1, length - digits - 2);
    const size_t equals = body.find('=');
    if (equals == std::string_view::npos) return wrong();
    RILL_TRY(record(body.substr(0, equals), body.substr(equals + 1), for_all));
    text.remove_prefix(length);
  }
  return {};
}

Status TarReader::record(std::string_view key, std::string_view value, bool for_all) {
  if (key.starts_with("GNU.sparse.")) {
    return fail(Code::kUnsupported, "tar has sparse files")
        .at(file_, 0)
        .hint("Write it without --sparse");
  }
  if (key != "path" && key != "size") return {};
  if (for_all) {
    return fail(Code::kUnsupported, "tar gives all entries one ", key).at(file_, 0);
  }
  if (key == "path") {
    extension_.path = std::string(value);
    return {};
  }
  int64_t size = -1;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), size);
  if (error != std::errc() || end != value.data() + value.size() || size < 0) {
    return fail(Code::kParse, "tar is damaged: a pax size is \"", value.substr(0, 40), "\"")
        .at(file_, 0);
  }
  extension_.size = size;
  return {};
}

std::string TarReader::name_in_header() const {
  const std::string_view block = text_of(block_);
  const std::string_view name = tar_text(kTarName.of(block));
  // GNU tar stores times in the field of the prefix.
  const bool has_prefix = kTarMagic.of(block).starts_with(std::string_view("ustar\0", 6));
  const std::string_view prefix = has_prefix ? tar_text(kTarPrefix.of(block)) : std::string_view();
  return prefix.empty() ? std::string(name) : str_cat(prefix, "/", name);
}

Status TarReader::entry(char type, int64_t size) {
  size = extension_.size.value_or(size);
  std::string raw = extension_.path       ? std::move(*extension_.path)
                    : extension_.gnu_name ? std::move(*extension_.gnu_name)
                                          : name_in_header();
  const bool is_file = type == '0' || type == '\0' || type == '7';
  if (!is_file) {
    if (type == 'S') return refused(raw, "is a sparse file");
    if (type == 'M') return refused(raw, "began in another file");
    const bool is_known = (type >= '1' && type <= '6') || type == 'D' || type == 'V';
    if (!is_known) return refused(raw, str_cat("is of the unknown type '", type, "'"));
    // Some readers skip `size` bytes after links, folders and devices; others do not.
    if (size != 0 && type != 'D') {
      return refused(raw, str_cat("is not a file, yet has ", size, " bytes"));
    }
    return skip_body(size);
  }
  if (raw.ends_with('/')) return skip_body(size);
  if (raw.empty() || raw.find('\0') != std::string::npos ||
      find_bad_utf8(raw) != std::string_view::npos) {
    return fail(Code::kParse, "an entry has no name, or one that is not UTF-8").at(file_, 0);
  }
  RILL_ASSIGN(std::optional<std::string> name, entry_name(raw, NameRule::kPath));
  if (!name) return skip_body(size);
  const int64_t trusted = budget_.trusted(size);
  RILL_TRY(budget_.take(size));
  if (is_large_tensor(*name, size)) {
    const MappedBytes mapped = in_.take_mapped(size);
    if (mapped.data) {
      entries_.push_back({std::move(*name), {}, mapped});
      return skip(padding(size));
    }
  }
  RILL_ASSIGN(std::vector<std::byte> bytes, data(size, trusted));
  entries_.push_back({std::move(*name), std::move(bytes), {}});
  return {};
}

/// Read the body of an entry. Allocates a trusted size at once, and otherwise as bytes arrive.
Result<std::vector<std::byte>> TarReader::data(int64_t size, int64_t trusted) {
  std::vector<std::byte> bytes;
  if (size > std::numeric_limits<ptrdiff_t>::max()) {
    return fail(Code::kNoMem, "no memory to read ", file_);
  }
  const auto all = static_cast<size_t>(size);
  auto wanted = static_cast<size_t>(trusted);
  while (bytes.size() < all) {
    const size_t done = bytes.size();
    wanted = std::min(std::max(wanted, done + kPieceBytes), all);
    bytes.reserve(wanted);
    bytes.resize(wanted);
    RILL_ASSIGN(const size_t got, in_.read(std::span(bytes).subspan(done)));
    if (done + got < wanted) return cut_short();
    wanted *= 2;
  }
  RILL_TRY(skip(padding(size)));
  return bytes;
}

Status TarReader::skip(int64_t bytes) {
  if (dropped_.empty()) dropped_.resize(kPieceBytes);
  while (bytes > 0) {
    const int64_t most = std::min(bytes, static_cast<int64_t>(dropped_.size()));
    const auto piece = std::span(dropped_).first(static_cast<size_t>(most));
    RILL_ASSIGN(const size_t got, in_.read(piece));
    if (got < piece.size()) return cut_short();
    bytes -= static_cast<int64_t>(got);
  }
  return {};
}

Status TarReader::skip_body(int64_t size) {
  RILL_TRY(skip(size));
  return skip(padding(size));
}

/// Read to the end, where the container has its checksum.
Status TarReader::drain() {
  dropped_.resize(kPieceBytes);
  for (size_t got = 1; got > 0;) {
    RILL_ASSIGN(got, in_.read(dropped_));
  }
  return {};
}

}  // namespace

Result<std::vector<Entry>> read_tar(InStream* in, std::string_view packing, const std::string& file,
                                    Budget* budget) {
  return TarReader(in, packing, file, budget).entries();
}

}  // namespace rill::nnef
