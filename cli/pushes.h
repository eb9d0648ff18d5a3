#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/splitmix.h"
#include "core/exec/feed.h"

namespace rill::cli {

/// A stream that is pushed in pieces of any size, and collects what it gives. It may go on in
/// another session.
class PushedStream {
 public:
  PushedStream(std::span<const Tensor> inputs, uint64_t seed) : inputs_(inputs), draw_(seed) {}

  /// Begin, or go on, in a session; inputs that do not stream are set.
  void attach(Session* session, Feed* feed);
  /// Push a piece of every input, and pull some of what is there; false once all is pushed.
  bool step();
  /// Whether that many hundredths of the first input that streams are pushed.
  bool past(int64_t percent) const;
  /// Forget all that was pushed and pulled.
  void restart();
  /// Tell the end, and pull the rest.
  Status finish();
  /// The frames of every output that streams; the last value of the others.
  Result<std::vector<Tensor>> outputs() const;

 private:
  int64_t pull(size_t output, int64_t room);

  std::span<const Tensor> inputs_;
  Splitmix64 draw_;
  Session* session_ = nullptr;
  Feed* feed_ = nullptr;
  std::vector<int64_t> pushed_;
  std::vector<std::vector<std::byte>> rows_;
  std::vector<int64_t> frames_;
};

}  // namespace rill::cli
