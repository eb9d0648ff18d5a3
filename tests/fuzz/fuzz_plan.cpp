// Opening any plan file ends in an error, or in a plan whose runs stay inside their memory. The
// input is a plan file, or the seed of a graph followed by changes to its file, each of an offset,
// an operation and a value.

#include <cstring>

#include "kernels/cpu.h"
#include "tests/fuzz/target.h"
#include "tests/property/generate.h"
#include "tests/property/streaming.h"
#include "tests/support/plan_files.h"

using namespace rill;

namespace {

struct Change {
  uint16_t place;
  uint8_t how;
  uint8_t value;
};

void alter(const Change& change, std::vector<std::byte>* file) {
  if (file->empty()) return;
  // Half of the changes go to the records, which precede the constants.
  const size_t span = change.how % 2 == 0 ? std::min<size_t>(file->size(), 4096) : file->size();
  std::byte& at = (*file)[change.place * size_t{31} % span];
  switch (change.how / 2 % 4) {
    case 0:
      at = static_cast<std::byte>(change.value);
      return;
    case 1:
      at ^= static_cast<std::byte>(1U << (change.value % 8));
      return;
    case 2:
      at = static_cast<std::byte>(static_cast<uint8_t>(at) + change.value % 5 - 2);
      return;
    default:
      file->resize(file->size() - change.value % std::min<size_t>(file->size(), 64));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kernels::set_tier_limit(kernels::Tier::kScalar);
  if (plan_file::is_plan_file(test::bytes_of(data, size))) {
    test::try_plan_file(test::bytes_of(data, size));
    return 0;
  }
  if (size < 2) return 0;
  const test::Generated generated = test::generate(test::recipe(data[0]));
  const auto graph = test::load_text(generated.text);
  if (!graph.ok()) return 0;
  auto streamed = test::StreamedRun::make(*graph, generated.pulse_unit * (1 + data[1] % 4));
  if (!streamed.ok()) return 0;
  auto file = test::written(streamed->session().plan());
  if (!file.ok()) return 0;
  for (size_t at = 2; at + sizeof(Change) <= size; at += sizeof(Change)) {
    Change change;
    std::memcpy(&change, data + at, sizeof change);
    alter(change, &*file);
  }
  test::try_plan_file(*file);
  return 0;
}
