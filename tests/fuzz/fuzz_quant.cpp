// The input is a graph.quant.

#include "nnef_loader/syntax/quant.h"
#include "tests/fuzz/target.h"

using namespace rill;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto info = nnef::parse_quant(test::text_of(data, size), "fuzz");
  test::expect_explained(info);
  return 0;
}
