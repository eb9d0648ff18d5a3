#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace rill::test {

/// A folder of tests/models: an archive, bundles of inputs and reference outputs, and a README that
/// describes how the model streams.
struct ModelFolder {
  std::string name;
  std::string path;
  std::string archive;
  std::vector<std::string> bundles;
  std::string symbol;          ///< empty if the README does not describe a stream
  int64_t pulse = 0;           ///< the README's reference pulse
  int64_t unit = 1;            ///< lengths are multiples of it, by the README
  /// Of its output at any pulse, in its frames, if the README states it
  int64_t delay = -1;
  bool bidirectional = false;  ///< its backward half sees the future, so that streams differ
};

/// List the folders of tests/models, sorted.
std::vector<ModelFolder> all_models();
/// List the models that are meant to stream, and can.
std::vector<ModelFolder> streaming_models();

/// Count the frames of about half a pulse that a stream of the model may end with.
int64_t part_of_pulse(const ModelFolder& model);

/// Return whether a model attends. Its streams sum over fewer keys than the whole run does: those
/// that it hides are missing.
bool has_attention(const ModelFolder& model);

/// Name tests after the model.
struct ModelName {
  template <class Info>
  std::string operator()(const Info& info) const {
    return info.param.name;
  }
};
inline void PrintTo(const ModelFolder& model, std::ostream* out) { *out << model.name; }

}  // namespace rill::test
