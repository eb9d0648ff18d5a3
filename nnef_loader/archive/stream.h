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

/// Bytes that are read once, from front to back.
class InStream {
 public:
  virtual ~InStream() = default;
  /// Fill `out`; only at the end of the bytes are there fewer.
  virtual Result<size_t> read(std::span<std::byte> out) = 0;
  /// Return that many bytes of a mapped file, and go on behind them. Nothing, and it stays where it
  /// is, for other streams and where there are fewer.
  virtual MappedBytes take_mapped(int64_t size);
};

/// Bytes that are written once, from front to back.
class OutStream {
 public:
  virtual ~OutStream() = default;
  virtual Status write(std::span<const std::byte> bytes) = 0;
  /// Write what is held back. Nothing may follow.
  virtual Status finish() = 0;
};

/// Read a source as it lies, which must outlive the stream.
std::unique_ptr<InStream> plain_in(const Source& source);

/// Write to a file as it comes, in large pieces. The file must outlive the stream.
std::unique_ptr<OutStream> plain_out(AtomicFile* file);

}  // namespace rill::nnef
