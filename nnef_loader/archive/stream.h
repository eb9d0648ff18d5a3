#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/base/mapped_file.h"
#include "core/base/status.h"
#include "nnef_loader/archive/atomic_file.h"
#include "nnef_loader/archive/source.h"

namespace rill::nnef {

/// A sequential input of bytes.
class InStream {
 public:
  virtual ~InStream() = default;
  /// Fill `out`; return fewer bytes only at the end.
  virtual Result<size_t> read(std::span<std::byte> out) = 0;
  /// Return `size` bytes of a mapped file, and advance by them. Return nothing, and do not advance,
  /// for other streams and where fewer bytes are left.
  virtual MappedBytes take_mapped(int64_t size);
};

/// A sequential output of bytes.
class OutStream {
 public:
  virtual ~OutStream() = default;
  virtual Status write(std::span<const std::byte> bytes) = 0;
  /// Flush buffered bytes. No write may follow.
  virtual Status finish() = 0;
};

/// Reads a source unchanged. The source must outlive the stream.
std::unique_ptr<InStream> plain_in(const Source& source);

/// Writes to a file in large pieces. The file must outlive the stream.
std::unique_ptr<OutStream> plain_out(AtomicFile* file);

}  // namespace rill::nnef
