#include "nnef_loader/archive/zip_writer.h"

#include <algorithm>
#include <vector>

#include "nnef_loader/archive/deflate.h"
#include "nnef_loader/archive/zip_format.h"

namespace rill::nnef {
namespace {

constexpr uint64_t kMostBytes = 0xFFFFFFFE;
constexpr size_t kMostEntries = 0xFFFE;
constexpr uint16_t kVersion = 20;      // the first with deflate, 4.4.3
constexpr uint16_t kFirstDay = 0x21;   // 1980-01-01, 4.4.6
constexpr uint32_t kMode = 0100644U << 16;

/// A record, built field by field.
class Record {
 public:
  Record& u16(uint64_t value) { return add(value, 2); }
  Record& u32(uint64_t value) { return add(value, 4); }
  Record& text(std::string_view text) {
    const auto* const first = reinterpret_cast<const std::byte*>(text.data());
    bytes_.insert(bytes_.end(), first, first + text.size());
    return *this;
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  Record& add(uint64_t value, int count) {
    for (int i = 0; i < count; ++i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
    return *this;
  }
  std::vector<std::byte> bytes_;
};

/// Deflated data, held until their length is known.
class Held final : public OutStream {
 public:
  Status write(std::span<const std::byte> bytes) override {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return {};
  }
  Status finish() override { return {}; }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

class ZipWriter {
 public:
  explicit ZipWriter(OutStream* out) : out_(*out) {}

  Status entry(const Entry& entry);
  Status end();

 private:
  Status write(std::span<const std::byte> bytes);

  OutStream& out_;
  uint64_t written_ = 0;
  uint64_t entries_ = 0;
  Record directory_;
};

Status ZipWriter::write(std::span<const std::byte> bytes) {
  if (bytes.size() > kMostBytes - written_) {
    return fail(Code::kArg, "a zip of over 4 GiB").hint("Write a tar, or a folder");
  }
  written_ += bytes.size();
  return out_.write(bytes);
}

Status ZipWriter::entry(const Entry& entry) {
  if (entry.bytes.size() > kMostBytes || entry.name.size() > 0xFFFF || entries_ == kMostEntries) {
    return fail(Code::kArg, "entry \"", entry.name.substr(0, 80), "\" is too large for a zip")
        .hint("Write a tar, or a folder");
  }
  Held packed;
  Deflater deflater(Wrapping::kNone);
  RILL_TRY(deflater.write(entry.bytes, true, &packed));
  // The common fields of both headers, 4.3.7.
  const auto common = [&](Record* record) {
    record->u16(kVersion).u16(zip::kUtf8).u16(zip::kDeflated).u16(0).u16(kFirstDay);
    record->u32(crc32_of(entry.bytes)).u32(packed.bytes().size()).u32(entry.bytes.size());
    record->u16(entry.name.size()).u16(0);
  };
  directory_.u32(zip::kCentralMark).u16(zip::kUnix << 8 | kVersion);
  common(&directory_);
  directory_.u16(0).u16(0).u16(0).u32(kMode).u32(written_).text(entry.name);
  Record local;
  local.u32(zip::kLocalMark);
  common(&local);
  local.text(entry.name);
  ++entries_;
  RILL_TRY(write(local.bytes()));
  return write(packed.bytes());
}

Status ZipWriter::end() {
  Record end;
  end.u32(zip::kEndMark).u16(0).u16(0).u16(entries_).u16(entries_);
  end.u32(directory_.bytes().size()).u32(written_).u16(0);
  RILL_TRY(write(directory_.bytes()));
  return write(end.bytes());
}

}  // namespace

Status write_zip(std::span<const Entry> entries, OutStream* out) {
  ZipWriter writer(out);
  for (const Entry& entry : entries) RILL_TRY(writer.entry(entry));
  return writer.end();
}

}  // namespace rill::nnef
