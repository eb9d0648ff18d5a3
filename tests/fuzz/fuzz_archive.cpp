// The input is an archive. An accepted archive is written and read back.

#include "nnef_loader/archive/archive.h"
#include "tests/fuzz/target.h"

using namespace rill;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  nnef::LoadLimits limits;
  limits.max_expanded_bytes = int64_t{1} << 24;
  limits.ratio_slack_bytes = int64_t{1} << 20;
  const auto entries = nnef::read_archive_memory(test::bytes_of(data, size), "fuzz", limits);
  test::expect_explained(entries);
  if (!entries.ok()) return 0;
  int64_t bytes = 0;
  for (const nnef::Entry& entry : *entries) {
    bytes += static_cast<int64_t>(entry.bytes.size());
    const std::string& name = entry.name;
    if (name.empty() || name[0] == '/' || name == ".." || name.rfind("../", 0) == 0 ||
        name.find("/../") != std::string::npos) {
      test::finding("a name that leaves the folder: " + name);
    }
  }
  if (bytes > limits.max_expanded_bytes) test::finding("more bytes than the limit");
  return 0;
}
