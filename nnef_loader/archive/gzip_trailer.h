#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/status.h"
#include "nnef_loader/archive/source.h"

namespace rill::nnef {

/// Compute the checksum that gzip and zip use (ISO 3309), piece by piece.
class Crc32 {
 public:
  void update(std::span<const std::byte> bytes);
  uint32_t value() const { return ~state_; }

 private:
  uint32_t state_ = 0xFFFFFFFFU;
};

/// Check the inflated data of a gzip file against its trailer, because libarchive does not. Files
/// of several members pass unchecked: the places of their trailers are unknown here.
/// Errors: kParse. Source: RFC 1952, 2.3.1.
Status check_gzip_trailer(const Source& source, const Crc32& crc, uint64_t unfolded_bytes);

}  // namespace rill::nnef
