#include "nnef_loader/archive/tar_writer.h"

#include <algorithm>
#include <array>
#include <vector>

#include "nnef_loader/archive/tar_header.h"

namespace rill::nnef {
namespace {

constexpr int64_t kBlock = kTarBlockBytes;
constexpr int64_t kTapeBlock = 20 * kBlock;
constexpr int64_t kMode = 0644;
using Header = std::array<char, kTarBlockBytes>;

void put_text(Header* header, TarField field, std::string_view text) {
  std::copy_n(text.begin(), std::min(text.size(), field.bytes), header->begin() + field.at);
}

/// Write octal digits and a zero byte, or base 256 if the number is too large for them.
void put_number(Header* header, TarField field, int64_t value) {
  const size_t digits = field.bytes - 1;
  const bool fits = value < int64_t{1} << (3 * digits);
  const int bits = fits ? 3 : 8;
  char* const first = header->data() + field.at;
  for (size_t i = fits ? digits : field.bytes; i-- > 0; value >>= bits) {
    first[i] = static_cast<char>(fits ? '0' + (value & 7) : value & 0xFF);
  }
  if (!fits) *first = static_cast<char>(0x80);
}

Header make_header(std::string_view name, int64_t size, char type) {
  Header header{};
  put_text(&header, kTarName, name);
  const bool is_file = type == '0';
  put_number(&header, kTarMode, is_file ? kMode : 0);
  put_number(&header, kTarUser, 0);
  put_number(&header, kTarGroup, 0);
  put_number(&header, kTarSize, size);
  put_number(&header, kTarTime, 0);
  header[kTarTypeAt] = type;
  put_text(&header, kTarMagic, "ustar  ");
  const uint32_t sum = tar_checksum({header.data(), header.size()});
  // Six digits, a zero byte and a blank.
  put_number(&header, {kTarChecksum.at, kTarChecksum.bytes - 1}, sum);
  header[kTarChecksum.at + kTarChecksum.bytes - 1] = ' ';
  return header;
}

/// Writes blocks, and counts them.
class TarWriter {
 public:
  explicit TarWriter(OutStream* out) : out_(*out) {}

  Status entry(const Entry& entry) {
    constexpr std::string_view kLongName = "././@LongLink";
    if (entry.name.size() > kTarName.bytes) {
      // The name with a zero byte at its end.
      const std::span name(reinterpret_cast<const std::byte*>(entry.name.c_str()),
                           entry.name.size() + 1);
      RILL_TRY(record(kLongName, 'L', name));
    }
    return record(entry.name, '0', entry.bytes);
  }

  Status end(bool padded) {
    int64_t zeros = 2 * kBlock;
    if (padded) zeros += (kTapeBlock - (written_ + zeros) % kTapeBlock) % kTapeBlock;
    const std::vector<std::byte> mark(static_cast<size_t>(zeros));
    return write(mark);
  }

 private:
  Status record(std::string_view name, char type, std::span<const std::byte> body) {
    const Header header = make_header(name, static_cast<int64_t>(body.size()), type);
    RILL_TRY(write(std::as_bytes(std::span(header))));
    RILL_TRY(write(body));
    constexpr std::array<std::byte, kTarBlockBytes> kZeros{};
    const auto over = static_cast<size_t>(written_ % kBlock);
    return over == 0 ? Status() : write(std::span(kZeros).first(kTarBlockBytes - over));
  }
  Status write(std::span<const std::byte> bytes) {
    written_ += static_cast<int64_t>(bytes.size());
    return out_.write(bytes);
  }

  OutStream& out_;
  int64_t written_ = 0;
};

}  // namespace

Status write_tar(std::span<const Entry> entries, bool padded, OutStream* out) {
  TarWriter writer(out);
  for (const Entry& entry : entries) RILL_TRY(writer.entry(entry));
  return writer.end(padded);
}

}  // namespace rill::nnef
