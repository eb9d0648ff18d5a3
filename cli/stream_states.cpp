#include "cli/stream_states.h"

#include <fstream>
#include <iterator>

#include "audit/drive.h"
#include "core/exec/saved.h"

namespace rill::cli {
namespace {

Status load_state(const std::string& path, Session* session, Feed* feed) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(Code::kIo, "File not found ", path).hint("--save-state writes states");
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  // States need an alignment of 8 bytes.
  std::vector<int64_t> words(bytes.size() / sizeof(int64_t) + 1);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(words.data()));
  return SavedState(session, feed).load(std::as_bytes(std::span(words)).first(bytes.size()));
}

Status save_state(const std::string& path, Session* session, Feed* feed) {
  const SavedState saved(session, feed);
  std::vector<int64_t> words(static_cast<size_t>(saved.most_bytes()) / sizeof(int64_t) + 1);
  const auto bytes = std::as_writable_bytes(std::span(words));
  const int64_t size = saved.save(bytes);
  if (size < 0) return fail(Code::kInternal, "a state is larger than its stated size");
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(words.data()), size);
  if (!file.flush()) return fail(Code::kIo, "cannot write ", path);
  return {};
}

}  // namespace

Result<StreamResult> stream_on(const StreamStates& states, int64_t seed, Session* session,
                               std::span<const Tensor> inputs, int64_t frames) {
  RILL_ASSIGN(const auto feed, Feed::make(session, 0));
  if (!states.load.empty()) RILL_TRY(load_state(states.load, session, feed.get()));
  audit::PushedStream stream(inputs, static_cast<uint64_t>(seed));
  stream.attach(session, feed.get());
  while (stream.step()) {
  }
  if (states.save.empty()) {
    RILL_TRY(stream.finish());
  } else {
    RILL_TRY(save_state(states.save, session, feed.get()));
  }
  StreamResult out;
  RILL_ASSIGN(out.outputs, stream.outputs());
  out.exact_length.assign(out.outputs.size(), true);
  out.frames = frames;
  return out;
}

}  // namespace rill::cli
