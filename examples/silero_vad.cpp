// Detects speech from a microphone with Silero's model file, whose state the stream keeps.
//   arecord -q -f S16_LE -r 16000 -t raw | silero_vad silero_vad.onnx
#include <cstdint>
#include <cstdio>
#include <utility>

#include "rill/streamer.hpp"

namespace {

rill::Result<rill::Streamer<float>> open_stream(const char* path) {
  auto model = rill::Model::load(path, "sr=16000");
  if (!model) return model.error();
  if (auto status = model->feedback("stateN", "state"); !status) return status.error();
  if (auto status = model->context("input", 64); !status) return status.error();
  // 512 new samples per step; the 64 from the previous step are not counted.
  for (const auto& [axis, extent] : {std::pair{"input_0", 1}, std::pair{"input_1", 512}}) {
    if (auto status = model->set(axis, extent); !status) return status.error();
  }
  auto plan = model->prepare();
  if (!plan) return plan.error();
  return rill::Streamer<float>::make(*plan);
}

}  // namespace

int main(int argc, char** argv) {
  auto stream = open_stream(argc > 1 ? argv[1] : "silero_vad.onnx");
  if (!stream) return std::fprintf(stderr, "%s\n", stream.error().text.c_str()), 1;

  const auto print = [](size_t, rill::TensorView<const float> speech) {
    for (int64_t i = 0; i < speech.size(); ++i) std::printf("%.3f\n", speech.data()[i]);
  };
  int16_t block[480];  // the microphone's blocks
  float samples[480];
  while (const size_t read = std::fread(block, sizeof(int16_t), 480, stdin)) {
    for (size_t i = 0; i < read; ++i) samples[i] = static_cast<float>(block[i]) / 32768.0F;
    const auto frames = static_cast<int64_t>(read);
    if (auto status = stream->push(samples, frames, print); !status) return 1;
  }
  return 0;
}
