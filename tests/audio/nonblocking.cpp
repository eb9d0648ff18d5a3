// Calls every function of audio.hpp that callbacks may use, so that the compiler proves them
// nonblocking: scripts/check_nonblocking.sh.

#include "rill/audio.hpp"

rill_status every_call(rill::AudioEffect& effect, rill::AudioListener& listener,
                       rill::Ring<float>& ring, const rill::ConstSound& in, const rill::Sound& out,
                       float* frames) RILL_REAL_TIME {
  const auto emit = [frames](size_t, const rill::TensorView<const float>& heard) noexcept {
    frames[0] = heard.data()[0];
  };
  const size_t moved = ring.write(frames, 9) + ring.read(frames, 9);
  if (moved == 0 || listener.push(in, emit) != RILL_OK) return RILL_E_STATE;
  if (listener.finish(emit) != RILL_OK || listener.reset() != RILL_OK) return RILL_E_STATE;
  if (effect.reset() != RILL_OK || effect.work() > effect.late()) return RILL_E_STATE;
  return effect.process(in, out);
}
