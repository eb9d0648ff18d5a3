#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "core/base/status.h"
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

/// Unfold deflated data, piece by piece. `what` and `file` are for messages, and outlive it.
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
  /// Errors: kParse for damaged data, checksum or length; kNoMem.
  Result<Step> step(std::span<const std::byte> in, std::span<std::byte> out);
  /// Begin again, for data that follow.
  Status restart();

 private:
  Status failure(int code) const;

  std::unique_ptr<ZlibState> state_;
  std::string_view what_;
  const std::string& file_;
};

/// Fold data, piece by piece.
class Deflater {
 public:
  explicit Deflater(Wrapping wrapping);
  ~Deflater();
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  /// Pass all of `bytes`, and with `last` all held back data, on to `out`. Errors: kNoMem; those of
  /// `out`.
  Status write(std::span<const std::byte> bytes, bool last, OutStream* out);

 private:
  std::unique_ptr<ZlibState> state_;
};

/// Unfold a gzip file of one or more members. Zeros may follow, nothing else may.
/// Errors: kParse where the data, a checksum or a length is wrong, and beyond `most` bytes; kNoMem.
/// Source: RFC 1952.
std::unique_ptr<InStream> gzip_in(const Source& source, int64_t most);

/// Fold into a gzip file of one member, without a name or a time. `out` must outlive the stream.
std::unique_ptr<OutStream> gzip_out(OutStream* out);

}  // namespace rill::nnef
