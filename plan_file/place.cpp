#include "plan_file/place.h"

#include <cstring>
#include <utility>

#include "core/base/aligned.h"
#include "core/run/plan_format.h"
#include "plan_file/check.h"
#include "plan_file/checksum.h"
#include "plan_file/properties.h"

namespace rill::plan_file {
namespace {

/// Return whether a file of this version has altered records. Faults of other files show in the
/// header.
bool is_altered(std::span<const std::byte> bytes) {
  Header header;
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  const auto size = static_cast<int64_t>(bytes.size());
  const bool readable = header.magic == kMagic && header.byte_order == kByteOrder &&
                        header.version == kVersion && header.bytes == size &&
                        header.constants >= int64_t{sizeof header} && header.constants <= size;
  if (!readable) return false;
  const auto summed = static_cast<size_t>(header.constants) - kSummedFrom;
  return checksum(bytes.subspan(kSummedFrom, summed)) != header.checksum;
}

}  // namespace

Result<OpenedAlone> place(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                          const Runner& runner, const Limits& limits) {
  RILL_TRY(check_size(static_cast<int64_t>(bytes.size()), limits));
  if (is_altered(bytes)) {
    return fail(Code::kParse, "not a plan file of rill: its checksum is wrong")
        .hint("Compile the model again, or copy the file again");
  }
  PlacedPlan placed;
  Refusal refused = place_plan(bytes, {}, runner, &placed);
  if (!refused.ok()) return refused.status();
  const int64_t capacity = (placed.bytes / kAlign + 1) * kAlign;
  auto* const memory =
      static_cast<std::byte*>(allocate_aligned(kAlign, static_cast<uint64_t>(capacity)));
  if (memory == nullptr) {
    return fail(Code::kNoMem, "no memory for a plan of ", placed.bytes, " bytes");
  }
  // Nothing in the block has a destructor.
  const std::shared_ptr<void> block(
      memory, [owner = std::move(owner)](void* own) { free_aligned(own); });
  refused = place_plan(bytes, {memory, static_cast<size_t>(capacity)}, runner, &placed);
  if (!refused.ok()) return refused.status();
  RILL_TRY(check(*placed.plan, limits).status());
  OpenedAlone out;
  RILL_ASSIGN(out.properties, read_properties(placed.properties));
  out.plan = {block, placed.plan};
  return out;
}

}  // namespace rill::plan_file
