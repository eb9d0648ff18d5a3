// The input is a .dat file. An accepted file reads back unchanged after writing.

#include "nnef_loader/tensor_file/tensor_file.h"
#include "tests/fuzz/target.h"

using namespace rill;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto tensor = nnef::read_tensor(test::bytes_of(data, size), "fuzz.dat");
  test::expect_explained(tensor);
  if (!tensor.ok()) return 0;
  const auto written = nnef::write_tensor(*tensor);
  test::expect_explained(written);
  if (!written.ok()) return 0;
  const auto again = nnef::read_tensor(*written, "again.dat");
  if (!again.ok()) test::finding("what is written cannot be read: " + again.error().to_string());
  // bf16 is written as f32.
  if (again->dtype() == tensor->dtype() && !again->same_bits(*tensor)) {
    test::finding("other elements after writing and reading");
  }
  return 0;
}
