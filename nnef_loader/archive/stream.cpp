#include "nnef_loader/archive/stream.h"

#include <vector>

namespace rill::nnef {
namespace {

class PlainIn final : public InStream {
 public:
  explicit PlainIn(const Source& source) : source_(source) {}
  Result<size_t> read(std::span<std::byte> out) override {
    RILL_ASSIGN(const size_t got, source_.read_at(at_, out));
    at_ += static_cast<int64_t>(got);
    return got;
  }
  MappedBytes take_mapped(int64_t size) override {
    const MappedBytes& all = source_.mapped();
    if (size < 0 || at_ > static_cast<int64_t>(all.size) ||
        size > static_cast<int64_t>(all.size) - at_) {
      return {};
    }
    const auto begin = static_cast<size_t>(at_);
    at_ += size;
    return all.part(begin, static_cast<size_t>(size));
  }

 private:
  const Source& source_;
  int64_t at_ = 0;
};

class PlainOut final : public OutStream {
 public:
  explicit PlainOut(AtomicFile* file) : file_(*file) { held_.reserve(kHeldBytes); }
  Status write(std::span<const std::byte> bytes) override {
    if (held_.size() + bytes.size() > kHeldBytes) RILL_TRY(finish());
    if (bytes.size() >= kHeldBytes) return file_.write(bytes);
    held_.insert(held_.end(), bytes.begin(), bytes.end());
    return {};
  }
  Status finish() override {
    const Status status = file_.write(held_);
    held_.clear();
    return status;
  }

 private:
  static constexpr size_t kHeldBytes = size_t{64} << 10;

  AtomicFile& file_;
  std::vector<std::byte> held_;
};

}  // namespace

MappedBytes InStream::take_mapped(int64_t) { return {}; }

std::unique_ptr<InStream> plain_in(const Source& source) {
  return std::make_unique<PlainIn>(source);
}

std::unique_ptr<OutStream> plain_out(AtomicFile* file) { return std::make_unique<PlainOut>(file); }

}  // namespace rill::nnef
