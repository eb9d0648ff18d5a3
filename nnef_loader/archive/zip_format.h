#pragma once

#include <cstddef>
#include <cstdint>

/// Constants of the zip format. Source: PKWARE, APPNOTE.TXT 6.3.10; sections in the comments.
namespace rill::nnef::zip {

inline constexpr uint32_t kLocalMark = 0x04034B50;      // 4.3.7
inline constexpr uint32_t kCentralMark = 0x02014B50;    // 4.3.12
inline constexpr uint32_t kEndMark = 0x06054B50;        // 4.3.16
inline constexpr uint32_t kEnd64Mark = 0x06064B50;      // 4.3.14
inline constexpr uint32_t kLocator64Mark = 0x07064B50;  // 4.3.15

inline constexpr size_t kLocalBytes = 30;
inline constexpr size_t kCentralBytes = 46;
inline constexpr size_t kEndBytes = 22;
inline constexpr size_t kEnd64Bytes = 56;
inline constexpr size_t kLocator64Bytes = 20;

inline constexpr uint16_t kEncrypted = 1U << 0;  // flags, 4.4.4
inline constexpr uint16_t kUtf8 = 1U << 11;
inline constexpr uint16_t kStored = 0;  // methods, 4.4.5
inline constexpr uint16_t kDeflated = 8;
inline constexpr uint16_t kUnix = 3;        // systems, 4.4.2
inline constexpr uint16_t kWide = 0x0001;   // extra field of zip64, 4.5.3

}  // namespace rill::nnef::zip
