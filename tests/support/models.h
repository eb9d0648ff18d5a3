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
  /// Delay of its output at any pulse, in output frames, if the README states it.
  int64_t delay = -1;
  bool bidirectional = false;  ///< whether a backward layer reads the future, so streams differ
};

/// List the folders of tests/models, sorted.
std::vector<ModelFolder> all_models();
/// List the models that the README describes as streaming, and that can stream.
std::vector<ModelFolder> streaming_models();

/// Return a number of frames, about half a pulse, with which a stream of the model may end.
int64_t part_of_pulse(const ModelFolder& model);

/// Return whether a model has attention. Its streams skip the hidden keys, over which the whole run
/// sums.
bool has_attention(const ModelFolder& model);

/// Name a parameterised test after its model.
struct ModelName {
  template <class Info>
  std::string operator()(const Info& info) const {
    return info.param.name;
  }
};
inline void PrintTo(const ModelFolder& model, std::ostream* out) { *out << model.name; }

}  // namespace rill::test
