#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "core/base/status.h"
#include "nnef_loader/archive/budget.h"
#include "nnef_loader/archive/source.h"
#include "nnef_loader/archive/stream.h"

namespace rill::nnef {

/// The container of deflated data.
enum class Wrapping : uint8_t {
  kNone,  ///< nothing, as in zip
  kGzip,  ///< header, checksum and length of gzip
};

/// Compute the checksum of gzip and zip (ISO 3309).
uint32_t crc32_of(std::span<const std::byte> bytes);

/// The state that zlib keeps between pieces.
struct ZlibState;

/// Inflates data piece by piece. `what` and `file` are for messages, and must outlive it.
class Inflater {
 public:
  Inflater(Wrapping wrapping, std::string_view what, const std::string& file);
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  struct Step {
    size_t taken = 0;  ///< bytes of the input
    size_t made = 0;   ///< bytes of the output
    bool ended = false;
  };
  /// Inflate from `in` to `out` until one of them, or the member, ends. Errors: kParse for damaged
  /// data, checksum or length; kNoMem.
  Result<Step> step(std::span<const std::byte> in, std::span<std::byte> out);
  /// Restart for the next member.
  Status restart();

 private:
  Status failure(int code) const;

  std::unique_ptr<ZlibState> state_;
  std::string_view what_;
  const std::string& file_;
};

/// Deflates data piece by piece.
class Deflater {
 public:
  explicit Deflater(Wrapping wrapping);
  ~Deflater();
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  /// Deflate `bytes` to `out`; with `last`, also flush all buffered data. Errors: kNoMem; those of
  /// `out`.
  Status write(std::span<const std::byte> bytes, bool last, OutStream* out);

 private:
  std::unique_ptr<ZlibState> state_;
};

/// Inflates a gzip file of one or more members. Only zeros may follow. Errors: kParse if the data,
/// a checksum or a length is wrong, or the error of the budget beyond `most` bytes; kNoMem.
/// Source: RFC 1952.
std::unique_ptr<InStream> gzip_in(const Source& source, int64_t most, const Budget& budget);

/// Deflates into a gzip file of one member, without a name or a time. `out` must outlive the
/// stream.
std::unique_ptr<OutStream> gzip_out(OutStream* out);

}  // namespace rill::nnef
