#include "nnef_loader/archive/zip_reader.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "core/base/utf8.h"
#include "nnef_loader/archive/deflate.h"
#include "nnef_loader/archive/zip_format.h"

namespace rill::nnef {
namespace {

using Bytes = std::vector<std::byte>;

/// Reads the fields of a record in order; returns zeros beyond its end, and `ok` is then false.
class Fields {
 public:
  explicit Fields(std::span<const std::byte> bytes) : bytes_(bytes) {}
  uint16_t u16() { return static_cast<uint16_t>(next(2)); }
  uint32_t u32() { return static_cast<uint32_t>(next(4)); }
  uint64_t u64() { return next(8); }
  std::span<const std::byte> bytes(size_t count) {
    if (count > bytes_.size()) ok_ = false;
    const auto taken = bytes_.first(std::min(count, bytes_.size()));
    bytes_ = bytes_.subspan(taken.size());
    return taken;
  }
  void skip(size_t count) { bytes(count); }
  bool ok() const { return ok_; }
  bool empty() const { return bytes_.empty(); }

 private:
  uint64_t next(size_t count) {
    uint64_t value = 0;
    const auto taken = bytes(count);
    for (size_t i = 0; i < taken.size(); ++i) {
      value |= std::to_integer<uint64_t>(taken[i]) << (8 * i);
    }
    return value;
  }

  std::span<const std::byte> bytes_;
  bool ok_ = true;
};

/// An entry of the directory.
struct Member {
  std::string name;
  uint16_t system = 0;
  uint16_t flags = 0;
  uint16_t method = 0;
  uint32_t crc = 0;
  uint32_t attributes = 0;
  uint64_t packed_bytes = 0;
  uint64_t bytes = 0;
  uint64_t at = 0;  ///< of its local header
};

struct Directory {
  uint64_t at = 0;
  uint64_t bytes = 0;
  uint64_t entries = 0;
};

class ZipReader {
 public:
  ZipReader(const Source& source, Budget* budget, NameRule rule)
      : source_(source), budget_(*budget), rule_(rule) {}

  Result<std::vector<Entry>> entries();

 private:
  Status damaged(std::string_view why) const {
    return fail(Code::kParse, "zip is damaged or cut short: ", why).at(source_.name(), 0);
  }
  Status in_parts() const {
    return fail(Code::kUnsupported, "zip is one part of several").at(source_.name(), 0);
  }
  /// Read exactly `count` bytes.
  Result<Bytes> read(uint64_t at, uint64_t count) const;
  Result<Directory> directory() const;
  Result<Directory> directory64(uint64_t end_at) const;
  Result<Member> member(Fields* fields) const;
  Status widen(Member* member, Fields extra) const;
  Status entry(Member member);
  Result<uint64_t> data_at(const Member& member) const;
  Result<Bytes> data(const Member& member, int64_t trusted) const;
  Status unfold(const Member& member, uint64_t at, Bytes* out) const;

  const Source& source_;
  Budget& budget_;
  NameRule rule_;
  std::vector<Entry> entries_;
};

Result<Bytes> ZipReader::read(uint64_t at, uint64_t count) const {
  const auto size = static_cast<uint64_t>(source_.size());
  if (at > size || count > size - at) return damaged("it points beyond its end");
  if (count > static_cast<uint64_t>(std::numeric_limits<ptrdiff_t>::max())) {
    return fail(Code::kNoMem, "no memory to read ", source_.name());
  }
  Bytes bytes(static_cast<size_t>(count));
  RILL_ASSIGN(const size_t got, source_.read_at(static_cast<int64_t>(at), bytes));
  if (got < bytes.size()) return damaged("it ends early");
  return bytes;
}

/// Find the directory by the end record, which is last, except for a comment of up to 65535 bytes.
Result<Directory> ZipReader::directory() const {
  constexpr uint64_t kMostTail = zip::kEndBytes + 0xFFFF;
  const auto size = static_cast<uint64_t>(source_.size());
  const uint64_t tail_at = size - std::min(size, kMostTail);
  RILL_ASSIGN(const Bytes tail, read(tail_at, size - tail_at));
  for (size_t end = tail.size() + 1 - std::min(tail.size() + 1, zip::kEndBytes); end-- > 0;) {
    Fields fields(std::span<const std::byte>(tail).subspan(end));
    if (fields.u32() != zip::kEndMark) continue;
    const uint32_t part = fields.u16();
    const uint32_t first_part = fields.u16();
    fields.skip(2);
    Directory found;
    found.entries = fields.u16();
    found.bytes = fields.u32();
    found.at = fields.u32();
    fields.skip(fields.u16());
    if (!fields.ok() || !fields.empty()) continue;
    const bool is_wide =
        found.entries == 0xFFFF || found.bytes == 0xFFFFFFFF || found.at == 0xFFFFFFFF;
    if (is_wide) return directory64(tail_at + end);
    if (part != 0 || first_part != 0) return in_parts();
    return found;
  }
  return damaged("it has no directory");
}

Result<Directory> ZipReader::directory64(uint64_t end_at) const {
  if (end_at < zip::kLocator64Bytes) return damaged("it has no directory");
  RILL_ASSIGN(const Bytes locator, read(end_at - zip::kLocator64Bytes, zip::kLocator64Bytes));
  Fields where(locator);
  if (where.u32() != zip::kLocator64Mark) return damaged("it has no directory");
  where.skip(4);
  RILL_ASSIGN(const Bytes record, read(where.u64(), zip::kEnd64Bytes));
  Fields fields(record);
  if (fields.u32() != zip::kEnd64Mark) return damaged("it has no directory");
  fields.skip(12);
  if (fields.u32() != 0 || fields.u32() != 0) return in_parts();
  fields.skip(8);
  Directory found;
  found.entries = fields.u64();
  found.bytes = fields.u64();
  found.at = fields.u64();
  return found;
}

Result<Member> ZipReader::member(Fields* fields) const {
  if (fields->u32() != zip::kCentralMark) return damaged("its directory is malformed");
  Member member;
  member.system = static_cast<uint16_t>(fields->u16() >> 8);
  fields->skip(2);
  member.flags = fields->u16();
  member.method = fields->u16();
  fields->skip(4);
  member.crc = fields->u32();
  member.packed_bytes = fields->u32();
  member.bytes = fields->u32();
  const size_t name_bytes = fields->u16();
  const size_t extra_bytes = fields->u16();
  const size_t comment_bytes = fields->u16();
  fields->skip(4);
  member.attributes = fields->u32();
  member.at = fields->u32();
  const auto name = fields->bytes(name_bytes);
  member.name.assign(reinterpret_cast<const char*>(name.data()), name.size());
  const Fields extra(fields->bytes(extra_bytes));
  fields->skip(comment_bytes);
  if (!fields->ok()) return damaged("its directory is malformed");
  RILL_TRY(widen(&member, extra));
  return member;
}

/// Read the zip64 extra field. It holds only the numbers that do not fit 32 bits, in this order.
Status ZipReader::widen(Member* member, Fields extra) const {
  constexpr uint64_t kElsewhere = 0xFFFFFFFF;
  while (!extra.empty()) {
    const uint16_t kind = extra.u16();
    Fields body(extra.bytes(extra.u16()));
    // Some programs write fields that end early, which is harmless.
    if (!extra.ok()) return {};
    if (kind != zip::kWide) continue;
    if (member->bytes == kElsewhere) member->bytes = body.u64();
    if (member->packed_bytes == kElsewhere) member->packed_bytes = body.u64();
    if (member->at == kElsewhere) member->at = body.u64();
    if (!body.ok()) return damaged("its directory is malformed");
  }
  return {};
}

Result<std::vector<Entry>> ZipReader::entries() {
  RILL_ASSIGN(const Directory directory, this->directory());
  RILL_ASSIGN(const Bytes records, read(directory.at, directory.bytes));
  Fields fields(records);
  for (uint64_t i = 0; i < directory.entries; ++i) {
    RILL_ASSIGN(Member next, member(&fields));
    RILL_TRY(budget_.take_entry());
    RILL_TRY(entry(std::move(next)));
  }
  RILL_TRY(check_unique(entries_, Code::kParse).at(source_.name(), 0));
  return std::move(entries_);
}

Status ZipReader::entry(Member member) {
  constexpr uint32_t kTypeMask = 0170000;
  constexpr uint32_t kRegular = 0100000;
  const uint32_t type = (member.attributes >> 16) & kTypeMask;
  const bool is_link = member.system == zip::kUnix && type != 0 && type != kRegular;
  if (is_link || (rule_ == NameRule::kPath && member.name.ends_with('/'))) return {};
  if (member.name.empty() || member.name.find('\0') != std::string::npos ||
      find_bad_utf8(member.name) != std::string_view::npos) {
    return fail(Code::kParse, "an entry has no name, or one that is not UTF-8")
        .at(source_.name(), 0);
  }
  RILL_ASSIGN(std::optional<std::string> name, entry_name(member.name, rule_));
  if (!name) return {};
  if ((member.flags & zip::kEncrypted) != 0) {
    return fail(Code::kUnsupported, "entry \"", *name, "\" is encrypted").at(source_.name(), 0);
  }
  if (member.method != zip::kStored && member.method != zip::kDeflated) {
    return fail(Code::kUnsupported, "entry \"", *name, "\" is packed by method ", member.method,
                ", neither stored nor deflated")
        .at(source_.name(), 0);
  }
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  const auto size = static_cast<int64_t>(std::min(member.bytes, kMost));
  const int64_t trusted = budget_.trusted(size);
  RILL_TRY(budget_.take(size));
  RILL_ASSIGN(Bytes bytes, data(member, trusted));
  entries_.push_back({std::move(*name), std::move(bytes)});
  return {};
}

/// Names and extra fields of the local header may have other lengths.
Result<uint64_t> ZipReader::data_at(const Member& member) const {
  RILL_ASSIGN(const Bytes local, read(member.at, zip::kLocalBytes));
  Fields fields(local);
  if (fields.u32() != zip::kLocalMark) return damaged("an entry is not where it should be");
  fields.skip(22);
  const uint64_t name_bytes = fields.u16();
  const uint64_t extra_bytes = fields.u16();
  return member.at + zip::kLocalBytes + name_bytes + extra_bytes;
}

Result<Bytes> ZipReader::data(const Member& member, int64_t trusted) const {
  RILL_ASSIGN(const uint64_t at, data_at(member));
  Bytes bytes;
  if (member.method == zip::kStored) {
    if (member.packed_bytes != member.bytes) return damaged("a stored entry has two sizes");
    RILL_ASSIGN(bytes, read(at, member.bytes));
  } else {
    bytes.reserve(static_cast<size_t>(trusted));
    RILL_TRY(unfold(member, at, &bytes));
  }
  if (crc32_of(bytes) == member.crc) return bytes;
  return damaged(str_cat("the checksum of entry \"", member.name, "\" does not fit"));
}

Status ZipReader::unfold(const Member& member, uint64_t at, Bytes* out) const {
  constexpr uint64_t kPieceBytes = uint64_t{64} << 10;
  const std::string what = str_cat("zip entry \"", member.name, "\"");
  Inflater inflater(Wrapping::kNone, what, source_.name());
  uint64_t packed_left = member.packed_bytes;
  Bytes piece;
  std::span<const std::byte> in;
  Bytes made(kPieceBytes);
  for (bool ended = false; !ended;) {
    if (in.empty() && packed_left > 0) {
      const uint64_t count = std::min(packed_left, kPieceBytes);
      RILL_ASSIGN(piece, read(at, count));
      in = piece;
      at += count;
      packed_left -= count;
    }
    RILL_ASSIGN(const Inflater::Step step, inflater.step(in, made));
    in = in.subspan(step.taken);
    ended = step.ended;
    const bool is_stuck = step.made == 0 && in.empty() && packed_left == 0;
    const bool is_longer = out->size() + step.made > member.bytes;
    if (is_longer || (is_stuck && !ended)) return damaged(str_cat(what, " has another size"));
    out->insert(out->end(), made.begin(), made.begin() + static_cast<ptrdiff_t>(step.made));
  }
  if (out->size() == member.bytes && in.empty() && packed_left == 0) return {};
  return damaged(str_cat(what, " has another size"));
}

}  // namespace

Result<std::vector<Entry>> read_zip(const Source& source, Budget* budget, NameRule rule) {
  return ZipReader(source, budget, rule).entries();
}

}  // namespace rill::nnef
