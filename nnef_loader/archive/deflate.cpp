#include "nnef_loader/archive/deflate.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

#include "core/base/search.h"

namespace rill::nnef {

struct ZlibState {
  z_stream z{};
  gz_header header{};
  int made = Z_OK;
};

namespace {

constexpr size_t kPieceBytes = size_t{64} << 10;
/// The maximum number of bytes per call: zlib counts them in unsigned ints.
constexpr size_t kMostAtOnce = std::numeric_limits<uInt>::max();

voidpf take_memory(voidpf /*client*/, uInt items, uInt size) {
  return ::operator new(size_t{items} * size, std::nothrow);
}
void give_memory(voidpf /*client*/, voidpf memory) { ::operator delete(memory); }

std::unique_ptr<ZlibState> make_state() {
  auto state = std::make_unique<ZlibState>();
  state->z.zalloc = take_memory;
  state->z.zfree = give_memory;
  return state;
}

/// Return zlib's code for window size and container format.
int window_bits(Wrapping wrapping) {
  constexpr int kGzipToo = 16;
  return wrapping == Wrapping::kGzip ? MAX_WBITS + kGzipToo : -MAX_WBITS;
}

void set_input(z_stream* z, std::span<const std::byte> in) {
  // zlib's interface lacks a const; it does not write there.
  z->next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(in.data()));
  z->avail_in = static_cast<uInt>(std::min(in.size(), kMostAtOnce));
}

void set_output(z_stream* z, std::span<std::byte> out) {
  z->next_out = reinterpret_cast<Bytef*>(out.data());
  z->avail_out = static_cast<uInt>(std::min(out.size(), kMostAtOnce));
}

class GzipIn final : public InStream {
 public:
  GzipIn(const Source& source, int64_t most, const Budget& budget)
      : source_(source),
        budget_(budget),
        most_(most),
        inflater_(Wrapping::kGzip, "gzip data", source.name()) {}

  Result<size_t> read(std::span<std::byte> out) override {
    size_t done = 0;
    while (done < out.size() && !ended_) {
      if (left_.empty()) RILL_TRY(refill());
      RILL_ASSIGN(const Inflater::Step step, inflater_.step(left_, out.subspan(done)));
      left_ = left_.subspan(step.taken);
      done += step.made;
      made_ += static_cast<int64_t>(step.made);
      if (made_ > most_) return budget_.refuse(made_);
      if (step.ended) {
        RILL_TRY(end_member());
      } else if (step.made == 0 && left_.empty() && at_ >= source_.size()) {
        return fail(Code::kParse, "gzip data is cut short").at(source_.name(), 0);
      }
    }
    return done;
  }

 private:
  Status refill() {
    if (piece_.empty()) piece_.resize(kPieceBytes);
    RILL_ASSIGN(const size_t got, source_.read_at(at_, piece_));
    at_ += static_cast<int64_t>(got);
    left_ = std::span(piece_).first(got);
    return {};
  }

  Status end_member() {
    if (left_.empty()) RILL_TRY(refill());
    // A second member starts with the first byte of the magic number.
    if (!left_.empty() && left_.front() == std::byte{0x1F}) return inflater_.restart();
    ended_ = true;
    // Zeros are padding, as on tapes.
    while (!left_.empty()) {
      if (any_of(left_, [](std::byte b) { return b != std::byte{0}; })) {
        return fail(Code::kParse, "other bytes follow the gzip data")
            .at(source_.name(), 0);
      }
      RILL_TRY(refill());
    }
    return {};
  }

  const Source& source_;
  const Budget& budget_;
  int64_t most_;
  int64_t made_ = 0;
  int64_t at_ = 0;
  bool ended_ = false;
  std::vector<std::byte> piece_;
  std::span<const std::byte> left_;
  Inflater inflater_;
};

class GzipOut final : public OutStream {
 public:
  explicit GzipOut(OutStream* out) : deflater_(Wrapping::kGzip), out_(*out) {}
  Status write(std::span<const std::byte> bytes) override {
    return deflater_.write(bytes, false, &out_);
  }
  Status finish() override {
    RILL_TRY(deflater_.write({}, true, &out_));
    return out_.finish();
  }

 private:
  Deflater deflater_;
  OutStream& out_;
};

}  // namespace

uint32_t crc32_of(std::span<const std::byte> bytes) {
  uLong crc = 0;
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(bytes.size(), kMostAtOnce));
    crc = crc32(crc, reinterpret_cast<const Bytef*>(piece.data()), static_cast<uInt>(piece.size()));
    bytes = bytes.subspan(piece.size());
  }
  return static_cast<uint32_t>(crc);
}

Inflater::Inflater(Wrapping wrapping, std::string_view what, const std::string& file)
    : state_(make_state()), what_(what), file_(file) {
  state_->made = inflateInit2(&state_->z, window_bits(wrapping));
}

// No effect if initialisation failed.
Inflater::~Inflater() { inflateEnd(&state_->z); }

Status Inflater::failure(int code) const {
  if (code == Z_MEM_ERROR) return fail(Code::kNoMem, "no memory to read ", file_);
  const char* const reason = state_->z.msg;
  return fail(Code::kParse, what_, " is damaged", reason == nullptr ? "" : ": ",
              reason == nullptr ? "" : reason)
      .at(file_, 0);
}

Result<Inflater::Step> Inflater::step(std::span<const std::byte> in, std::span<std::byte> out) {
  if (state_->made != Z_OK) return failure(state_->made);
  z_stream& z = state_->z;
  set_input(&z, in);
  set_output(&z, out);
  const uInt had = z.avail_in;
  const uInt had_space = z.avail_out;
  const int code = inflate(&z, Z_NO_FLUSH);
  // A buffer error only means no progress, which the counts show too.
  if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) return failure(code);
  return Step{had - z.avail_in, had_space - z.avail_out, code == Z_STREAM_END};
}

Status Inflater::restart() {
  const int code = inflateReset(&state_->z);
  return code == Z_OK ? Status() : failure(code);
}

Deflater::Deflater(Wrapping wrapping) : state_(make_state()) {
  constexpr int kMemoryLevel = 8;
  int& made = state_->made;
  made = deflateInit2(&state_->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window_bits(wrapping),
                      kMemoryLevel, Z_DEFAULT_STRATEGY);
  if (made != Z_OK || wrapping != Wrapping::kGzip) return;
  // Otherwise zlib writes the operating system, and equal entries would have different bytes on
  // other systems.
  constexpr int kUnknownSystem = 255;
  state_->header.os = kUnknownSystem;
  made = deflateSetHeader(&state_->z, &state_->header);
}

Deflater::~Deflater() { deflateEnd(&state_->z); }

Status Deflater::write(std::span<const std::byte> bytes, bool last, OutStream* out) {
  if (state_->made != Z_OK) return fail(Code::kNoMem, "no memory to compress data");
  z_stream& z = state_->z;
  std::vector<std::byte> made(kPieceBytes);
  for (bool more = true; more;) {
    set_input(&z, bytes);
    const uInt had = z.avail_in;
    const bool all = had == bytes.size();
    set_output(&z, made);
    const int code = deflate(&z, last && all ? Z_FINISH : Z_NO_FLUSH);
    bytes = bytes.subspan(had - z.avail_in);
    RILL_TRY(out->write(std::span(made).first(made.size() - z.avail_out)));
    more = last ? code != Z_STREAM_END : !bytes.empty() || z.avail_out == 0;
  }
  return {};
}

std::unique_ptr<InStream> gzip_in(const Source& source, int64_t most, const Budget& budget) {
  return std::make_unique<GzipIn>(source, most, budget);
}

std::unique_ptr<OutStream> gzip_out(OutStream* out) { return std::make_unique<GzipOut>(out); }

}  // namespace rill::nnef
