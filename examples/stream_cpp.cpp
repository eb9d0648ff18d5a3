// Feed noise to a model in chunks of any length, as an audio callback would.
//   stream_cpp model.nnef.tgz
#include <cstdio>
#include <cstdlib>

#include "rill/streamer.hpp"

namespace {

rill::Result<rill::Streamer<float>> open_stream(const char* path) {
  auto model = rill::Model::load(path);
  if (!model) return model.error();
  if (auto status = model->set("B", 1); !status) return status.error();
  if (auto status = model->pulse("S", 1600); !status) return status.error();
  auto plan = model->prepare();
  if (!plan) return plan.error();
  return rill::Streamer<float>::make(*plan);
}

}  // namespace

int main(int argc, char** argv) {
  auto stream = open_stream(argc > 1 ? argv[1] : "model.nnef.tgz");
  if (!stream) return std::fprintf(stderr, "%s\n", stream.error().text.c_str()), 1;

  const auto print = [](size_t, rill::TensorView<const float> speech) {
    for (int64_t t = 0; t < speech.extent(1); ++t) std::printf("%.3f\n", speech(0, t));
  };
  float chunk[441];
  for (int block = 0; block < 40; ++block) {
    for (float& x : chunk) x = 0.1F * static_cast<float>(std::rand()) / 2147483648.0F;
    if (auto status = stream->push(chunk, 441, print); !status) return 1;
  }
  return stream->finish(print) ? 0 : 1;
}
