#include "plan_file/write.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/base/mapped_file.h"
#include "core/run/plan_format.h"
#include "core/run/plan_records.h"
#include "plan_file/checksum.h"
#include "plan_file/properties.h"
#include "plan_file/step_writer.h"

namespace rill::plan_file {
namespace {

/// Large constants are written in pieces of this size.
constexpr int64_t kPieceBytes = int64_t{4} << 20;

/// The bytes of records. Equal records share their bytes.
class Records {
 public:
  explicit Records(int64_t begin) : begin_(begin) {}

  Place add(const RecordWriter& record) {
    const std::vector<std::byte>& bytes = record.bytes();
    for (const Place& place : places_) {
      const std::byte* own = bytes_.data() + (place.begin - begin_);
      if (place.bytes == static_cast<int64_t>(bytes.size()) &&
          std::memcmp(own, bytes.data(), bytes.size()) == 0) {
        return place;
      }
    }
    const Place place{begin_ + static_cast<int64_t>(bytes_.size()),
                      static_cast<int64_t>(bytes.size())};
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    bytes_.resize((bytes_.size() + 7) / 8 * 8);
    places_.push_back(place);
    return place;
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  int64_t begin_;
  std::vector<std::byte> bytes_;
  std::vector<Place> places_;
};

/// A plan while it is written.
class PlanWriter {
 public:
  PlanWriter(const Plan& plan, std::span<const OpModule* const> modules,
             const WriteOptions& options, Constants* constants)
      : plan_(plan),
        options_(options),
        constants_(constants),
        steps_(plan, modules, &constants_),
        states_(plan, modules, &constants_) {}

  Result<RecordWriter> run() {
    steps_.steps(plan_.steps);
    for (const PlanState& state : plan_.states) states_.operand(state.value);
    plan_fields(*this, plan_);
    to_.text(options_.audit);
    to_.text(options_.weights);
    to_.natural(plan_.nodes.size());
    RILL_TRY(steps_.status());
    // The tables to which steps refer by number come first.
    RecordWriter out;
    steps_.kinds().write(&out);
    steps_.kernels().write(&out);
    steps_.classes().write(&out);
    constants_.write(&out);
    out.append(to_);
    out.append(states_.record());
    out.append(steps_.record());
    return out;
  }

  // The members that plan_records.h asks for.
  template <class T>
  void number(const char* /*name*/, const T& value, PlanRange /*range*/) {
    to_.number(static_cast<int64_t>(value));
  }
  void buffer(const char* /*name*/, uint32_t value) { to_.natural(value); }
  void text(const Text& value) { to_.text(value); }
  void raw(uint64_t value) { to_.raw(value); }
  void extent(const Extent& value) { to_.dim(dim_of(value, plan_.stream_symbol)); }
  int type(const PlanIo& io) {
    write_type(&to_, io.dtype, io.q, {io.shape.begin(), io.shape.end()});
    return static_cast<int>(io.shape.size());
  }
  void content(const PlanBuffer& buffer) {
    const auto initial = static_cast<int64_t>(buffer.initial.size());
    to_.number(buffer.kind == BufferKind::kConst ? constant(buffer.data.get(), buffer.bytes)
                                                 : constant(buffer.initial.data(), initial));
  }
  void require(bool, const char*, const char*) {}
  int64_t count(size_t size) {
    to_.natural(size);
    return static_cast<int64_t>(size);
  }
  template <class Each, class... T>
  void many(int64_t count, const Each& each, const List<T>&... lists) {
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) each(lists[i]...);
  }
  template <class Each>
  void many(int64_t count, const Each& each, const List<PlanBuffer>& buffers) {
    for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
      const PlanBuffer buffer = written(i, buffers[i]);
      each(buffer);
    }
  }

 private:
  int64_t constant(const void* data, int64_t bytes) {
    return data == nullptr || bytes == 0 ? -1 : constants_.add(data, bytes);
  }
  /// Return the record of a buffer, without a copy of its content. A buffer that no step touches
  /// has no memory.
  PlanBuffer written(size_t index, const PlanBuffer& buffer) const {
    PlanBuffer out;
    out.kind = buffer.kind;
    out.io = buffer.io;
    out.data = buffer.data;
    auto* const initial = const_cast<std::byte*>(buffer.initial.data());
    out.initial = List<std::byte>::at(initial, buffer.initial.size());
    const bool left_out = !steps_.is_used(index) &&
                          (buffer.kind == BufferKind::kArena || buffer.kind == BufferKind::kConst);
    if (left_out) return out;
    out.bytes = buffer.bytes;
    out.offset = buffer.offset;
    out.first_step = buffer.first_step;
    out.last_step = buffer.last_step;
    return out;
  }

  const Plan& plan_;
  const WriteOptions& options_;
  ConstantTable constants_;
  StepWriter steps_;
  StepWriter states_;
  RecordWriter to_;
};

/// Return the record of notes: the names of nodes, and the operands of steps.
RecordWriter notes_of(const Plan& plan, std::span<const OpModule* const> modules) {
  RecordWriter out;
  out.natural(plan.nodes.size());
  for (const PlanNode& node : plan.nodes) {
    out.text(node.name);
    out.text(node.op);
  }
  out.natural(plan.uses.size());
  Constants all;
  ConstantTable none(&all);
  StepWriter operands(plan, modules, &none);
  for (const StepUse& use : plan.uses) {
    for (const auto* list : {&use.reads, &use.writes}) {
      out.natural(list->size());
      for (const uint32_t buffer : *list) out.natural(buffer);
    }
    for (const List<PlacedView>* list : {&use.inputs, &use.outputs}) {
      out.natural(list->size());
      for (const PlacedView& operand : *list) operands.operand(operand);
    }
  }
  out.append(operands.record());
  return out;
}

/// Return the record of the properties; no bytes if there are none.
RecordWriter record_of(const std::vector<Property>& properties) {
  RecordWriter out;
  if (properties.empty()) return out;
  out.natural(properties.size());
  for (const Property& each : properties) {
    out.text(each.key);
    out.number(static_cast<int64_t>(each.dtype));
    out.text(each.text);
    out.natural(each.count());
    for (const std::string& value : each.strings) out.text(value);
    for (const double value : each.floats) out.real(value);
    for (const int64_t value : each.ints) out.number(value);
  }
  return out;
}

Status check_properties(const std::vector<Property>& properties) {
  int64_t values = 0;
  for (const Property& each : properties) {
    values += static_cast<int64_t>(each.count());
    if (values <= kMostPropertyValues) continue;
    return fail(Code::kUnsupported, "property \"", each.key, "\": a compiled model holds ",
                kMostPropertyValues, " values of properties")
        .hint("Remove the property from the model, or keep its values elsewhere");
  }
  if (static_cast<int64_t>(properties.size()) <= kMostProperties) return {};
  return fail(Code::kUnsupported, properties.size(), " properties: a compiled model holds ",
              kMostProperties)
      .hint("Remove properties from the model");
}

void copy_into(std::vector<std::byte>* to, size_t at, const void* from, size_t bytes) {
  std::memcpy(to->data() + at, from, bytes);
}

}  // namespace

Result<PlanFile> make_file(std::span<const TargetPlan> plans,
                           std::span<const OpModule* const> modules, const WriteOptions& options,
                           std::span<const std::byte> mapped) {
  if (plans.empty() || plans.size() > kMostTargets) {
    return fail(Code::kArg, plans.size(), " targets: expected 1 to ", kMostTargets);
  }
  RILL_TRY(check_properties(options.properties));
  const size_t begin = sizeof(Header) + plans.size() * sizeof(TargetEntry);
  Records records(static_cast<int64_t>(begin));
  Constants constants(mapped);
  std::vector<TargetEntry> entries;
  for (const TargetPlan& each : plans) {
    TargetEntry entry{};
    if (each.target.empty() || each.target.size() >= entry.name.size()) {
      return fail(Code::kArg, "target \"", each.target, "\": expected the name of a tier");
    }
    std::memcpy(entry.name.data(), each.target.data(), each.target.size());
    PlanWriter writer(*each.plan, modules, options, &constants);
    RILL_ASSIGN(const RecordWriter plan, writer.run());
    entry.plan = records.add(plan);
    if (options.notes) entry.notes = records.add(notes_of(*each.plan, modules));
    if (!options.properties.empty()) entry.properties = records.add(record_of(options.properties));
    entries.push_back(entry);
  }
  const size_t end = begin + records.bytes().size();
  const size_t first_constant = (end + kAlign - 1) / kAlign * kAlign;
  PlanFile out;
  out.head.resize(first_constant);
  out.constants = constants.entries();
  out.constant_bytes = constants.bytes();
  copy_into(&out.head, sizeof(Header), entries.data(), entries.size() * sizeof(TargetEntry));
  copy_into(&out.head, begin, records.bytes().data(), records.bytes().size());
  Header header{};
  header.magic = kMagic;
  header.version = kVersion;
  header.byte_order = kByteOrder;
  header.bytes = out.bytes();
  header.constants = static_cast<int64_t>(first_constant);
  header.targets = static_cast<uint32_t>(plans.size());
  copy_into(&out.head, 0, &header, sizeof header);
  header.checksum = checksum(std::span(out.head).subspan(kSummedFrom));
  Checksum sum(static_cast<size_t>(out.constant_bytes));
  RILL_TRY(out.each_constant_piece([&](std::span<const std::byte> piece) {
    sum.add(piece);
    if (is_within(piece, mapped)) drop_pages(piece);
    return Status();
  }));
  header.constant_checksum = sum.value();
  copy_into(&out.head, 0, &header, sizeof header);
  return out;
}

Result<std::vector<std::byte>> write(std::span<const TargetPlan> plans,
                                     std::span<const OpModule* const> modules,
                                     const WriteOptions& options) {
  RILL_ASSIGN(const PlanFile file, make_file(plans, modules, options));
  return file.joined();
}

bool is_within(std::span<const std::byte> part, std::span<const std::byte> whole) {
  const auto address = [](const std::byte* at) { return reinterpret_cast<uintptr_t>(at); };
  return address(part.data()) >= address(whole.data()) &&
         address(part.data() + part.size()) <= address(whole.data() + whole.size());
}

Status PlanFile::each_constant_piece(const Sink& sink) const {
  constexpr std::array<std::byte, kReadBeyond + 2 * kAlign> kZeros{};
  int64_t done = 0;
  const auto give_padding = [&](int64_t end) {
    const auto padding = static_cast<size_t>(end - done);
    done = end;
    return padding == 0 ? Status() : sink(std::span(kZeros).first(padding));
  };
  for (size_t i = 0; i < constants.size(); ++i) {
    const FileConstant& each = constants[i];
    // The last bytes, fewer than 64, are written with their padding.
    const int64_t whole = each.bytes / kAlign * kAlign;
    for (int64_t at = 0; at < whole; at += kPieceBytes) {
      const int64_t bytes = std::min(kPieceBytes, whole - at);
      RILL_TRY(sink({each.data + at, static_cast<size_t>(bytes)}));
    }
    done += whole;
    if (whole < each.bytes) {
      std::array<std::byte, kAlign> last{};
      std::memcpy(last.data(), each.data + whole, static_cast<size_t>(each.bytes - whole));
      RILL_TRY(sink(last));
      done += kAlign;
    }
    RILL_TRY(give_padding(i + 1 < constants.size() ? constants[i + 1].begin : constant_bytes));
  }
  return {};
}

Status PlanFile::each_piece(const Sink& sink) const {
  RILL_TRY(sink(head));
  return each_constant_piece(sink);
}

std::vector<std::byte> PlanFile::joined() const {
  std::vector<std::byte> out = head;
  out.reserve(static_cast<size_t>(bytes()));
  const Status status = each_constant_piece([&](std::span<const std::byte> piece) {
    out.insert(out.end(), piece.begin(), piece.end());
    return Status();
  });
  RILL_ASSERT(status.ok());
  return out;
}

bool PlanFile::is_same(const PlanFile& other, std::span<const std::byte> mapped) const {
  if (head != other.head || constants.size() != other.constants.size()) return false;
  for (size_t i = 0; i < constants.size(); ++i) {
    const FileConstant& own = constants[i];
    const FileConstant& theirs = other.constants[i];
    if (own.bytes != theirs.bytes) return false;
    for (int64_t at = 0; at < own.bytes; at += kPieceBytes) {
      const auto bytes = static_cast<size_t>(std::min(kPieceBytes, own.bytes - at));
      if (std::memcmp(own.data + at, theirs.data + at, bytes) != 0) return false;
      const std::span piece(theirs.data + at, bytes);
      if (is_within(piece, mapped)) drop_pages(piece);
    }
  }
  return true;
}

void seal(std::span<std::byte> file) {
  Header header;
  if (file.size() < sizeof header) return;
  std::memcpy(&header, file.data(), sizeof header);
  const auto constants = static_cast<size_t>(header.constants);
  if (constants < kSummedFrom || constants > file.size()) return;
  header.checksum = checksum(file.subspan(kSummedFrom, constants - kSummedFrom));
  header.constant_checksum = checksum(file.subspan(constants));
  std::memcpy(file.data(), &header, sizeof header);
}

}  // namespace rill::plan_file
