#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rill::nnef {

inline constexpr size_t kTarBlockBytes = 512;

/// A field of a tar header: its place in the block. Source: POSIX.1-2017, pax, "ustar Interchange
/// Format".
struct TarField {
  size_t at;
  size_t bytes;

  std::string_view of(std::string_view block) const { return block.substr(at, bytes); }
};
inline constexpr TarField kTarName{0, 100};
inline constexpr TarField kTarMode{100, 8};
inline constexpr TarField kTarUser{108, 8};
inline constexpr TarField kTarGroup{116, 8};
inline constexpr TarField kTarSize{124, 12};
inline constexpr TarField kTarTime{136, 12};
inline constexpr TarField kTarChecksum{148, 8};
inline constexpr size_t kTarTypeAt = 156;
inline constexpr TarField kTarMagic{257, 8};
inline constexpr TarField kTarPrefix{345, 155};

/// Sum the bytes of a header, with its checksum field as blanks.
uint32_t tar_checksum(std::string_view block);

/// Return whether a block is a header, by its checksum: tars older than ustar have no magic. Old
/// programs summed signed bytes.
bool tar_checksum_fits(std::string_view block);

/// Read a number: octal digits or, if the first bit is set, base 256. Nothing if it is neither,
/// negative or beyond 63 bits.
std::optional<int64_t> tar_number(std::string_view field);

/// Return a text up to its zero byte or the end of its field.
std::string_view tar_text(std::string_view field);

}  // namespace rill::nnef
