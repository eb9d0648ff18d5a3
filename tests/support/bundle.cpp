#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "api/src/npz.h"
#include "tests/support/array.h"

namespace rill::test {

Arrays read_bundle(const std::string& path) {
  auto tensors = read_npz(path);
  if (!tensors.ok()) {
    std::fprintf(stderr, "%s\n", tensors.error().to_string().c_str());
    std::exit(1);
  }
  Arrays out;
  for (const auto& [name, tensor] : *tensors) {
    Array array = Array::zeros(static_cast<rill_dtype>(tensor.dtype()), tensor.shape());
    if (!array.bytes.empty()) {
      std::memcpy(array.bytes.data(), tensor.raw(), array.bytes.size());
    }
    out.emplace(name, std::move(array));
  }
  return out;
}

}  // namespace rill::test
