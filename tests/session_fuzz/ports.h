#pragma once

#include <cstring>
#include <vector>

#include "tests/session_fuzz/subject.h"

namespace rill::test {

/// Return the index of the first port that streams.
inline size_t first_stream(const std::vector<Port>& ports) {
  size_t i = 0;
  while (ports[i].axis < 0) ++i;
  return i;
}

/// Return the frames per step of a port.
inline int64_t pulse_of(const Port& port) { return port.shape[static_cast<size_t>(port.axis)]; }

/// Return a session's buffer of a port.
inline rill_view buffer_of(rill_session* session, rill_dir dir, size_t index) {
  rill_view view = {};
  view.size = sizeof(view);
  dir == RILL_INPUT ? rill_input_buffer(session, index, &view)
                    : rill_output_buffer(session, index, &view);
  return view;
}

/// Return the buffer of a port as an array.
inline Array read_buffer(rill_session* session, rill_dir dir, size_t index, const Port& port) {
  Array out = Array::zeros(port.dtype, port.shape);
  const rill_view view = buffer_of(session, dir, index);
  if (!out.bytes.empty()) std::memcpy(out.bytes.data(), view.data, out.bytes.size());
  return out;
}

}  // namespace rill::test
