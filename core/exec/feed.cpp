#include "core/exec/feed.h"

#include <algorithm>
#include <memory>
#include <new>

#include "core/base/aligned.h"
#include "core/base/search.h"

namespace rill {

Result<std::unique_ptr<Feed>> Feed::make(Session* session, int64_t max_push) {
  const Plan& plan = session->plan();
  const bool streams = any_of(
      plan.inputs, [](const PlanIo& io) { return io.stream.axis >= 0 && io.stream.pulse > 0; });
  if (!streams) return fail(Code::kState, "the plan does not stream");
  const auto offsets = offsets_for(plan, max_push);
  std::unique_ptr<Feed> feed(new (std::nothrow) Feed(session));
  if (offsets && feed) {
    feed->bytes_ = offsets->all;
    feed->memory_ = static_cast<std::byte*>(allocate_aligned(static_cast<size_t>(kSessionAlignment),
                                                             static_cast<uint64_t>(offsets->all)));
  }
  if (!feed || feed->memory_ == nullptr) {
    return fail(Code::kNoMem, "no memory to hold the outputs of ", counted(max_push, "frame"));
  }
  std::fill_n(feed->memory_, feed->bytes_, std::byte{0});
  feed->begin(max_push, feed->memory_);
  return feed;
}

Feed::~Feed() {
  end();
  free_aligned(memory_);
}

int64_t Feed::memory_bytes() const {
  int64_t bytes = static_cast<int64_t>(sizeof(Feed)) + bytes_;
  for (const In& in : kept_.ins) bytes += static_cast<int64_t>(in.early.bytes.capacity());
  for (const Out& out : kept_.outs) bytes += static_cast<int64_t>(out.early.bytes.capacity());
  return bytes;
}

}  // namespace rill
