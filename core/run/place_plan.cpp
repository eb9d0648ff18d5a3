#include "core/run/place_plan.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <tuple>
#include <type_traits>

#include "core/base/checked.h"
#include "core/base/limits.h"
#include "core/run/plan_format.h"
#include "core/run/plan_records.h"
#include "core/run/read_extent.h"
#include "core/run/record.h"
#include "core/run/step_fields.h"

namespace rill {
namespace {

using plan_file::Header;
using plan_file::kAlign;
using plan_file::TargetEntry;

/// Memory that is allocated sequentially. Once it is used up, requests are only counted.
class Memory {
 public:
  explicit Memory(std::span<std::byte> all) : all_(all), stores_(!all.empty()) {}

  bool stores() const { return stores_; }
  int64_t used() const { return used_; }
  /// Every item that takes memory has at least one byte in the file, so the count cannot overflow.
  void* take(Checked bytes, size_t alignment) {
    const auto unit = static_cast<int64_t>(alignment);
    used_ = checked(used_ + unit - 1).at_most(kMostMemoryBytes) / unit * unit;
    const int64_t begin = used_;
    used_ = (bytes + begin).at_most(kMostMemoryBytes);
    stores_ &= used_ <= static_cast<int64_t>(all_.size());
    return stores_ ? all_.data() + begin : nullptr;
  }
  template <class T>
  List<T> list(int64_t count) {
    constexpr auto kSize = static_cast<int64_t>(sizeof(T));
    auto* const first = static_cast<T*>(take(checked(count) * kSize, alignof(T)));
    if (!stores_) return {};
    for (int64_t i = 0; i < count; ++i) new (first + i) T();
    return List<T>::at(first, static_cast<size_t>(count));
  }
  Text text(std::string_view from) {
    auto* const letters =
        static_cast<char*>(take(static_cast<int64_t>(from.size()) + 1, alignof(char)));
    if (!stores_) return {};
    std::copy(from.begin(), from.end(), letters);
    letters[from.size()] = '\0';
    return Text::at(letters, from.size());
  }

 private:
  std::span<std::byte> all_;
  bool stores_;
  int64_t used_ = 0;
};

/// Reads a plan from a record, field by field.
class PlanReader final : public StepFields {
 public:
  PlanReader(std::span<const std::byte> record, std::span<const std::byte> constants,
             const Runner& runner, Memory* to)
      : StepFields(false), from_(record), constants_(constants), runner_(runner), to_(*to) {}

  /// `notes`: the record with the names of nodes; empty if they are not needed.
  Refusal read(std::span<const std::byte> notes, Plan* plan) {
    kind_names_ = skip_names();
    kernel_names_ = skip_names();
    if (from_.count() > 0) lacks("operators");
    all_constants_ = list<std::span<const std::byte>>(
        [&](std::span<const std::byte>* each) { *each = read_constant(from_, constants_); },
        &constant_count_);
    plan_fields(*this, *plan);
    from_.text();  // the audit's report
    from_.text();  // the report on the weights
    nodes_ = read_node_count(from_, notes.size());
    for (int64_t i = 0; i < states_ && good(); ++i) {
      PlacedView value;
      field({}, value);
      if (stores()) plan->states[static_cast<size_t>(i)].value = value;
    }
    plan->steps = steps();
    if (good() && from_.left() > 0) from_.fail("a record has bytes after its contents");
    if (good() && runner_.names) read_nodes(notes, plan);
    if (refused_.ok() && !from_.good()) {
      const char* const field = from_.field();
      return refusal(Code::kParse, "Compile the model again, or copy the file again",
                     "not a plan file of rill: %s%s%s", field == nullptr ? "" : field,
                     field == nullptr ? "" : ": ", from_.why());
    }
    return refused_;
  }

  // The members that plan_records.h requires.
  template <class T>
  void number(const char* name, T& value, PlanRange range) {
    read_number(from_, name, value, range);
  }
  void buffer(const char* name, uint32_t& value) {
    read_buffer_index(from_, name, static_cast<uint64_t>(buffers_), value);
  }
  void text(Text& value) { value = to_.text(from_.text()); }
  void raw(uint64_t& value) { value = from_.raw(); }
  void extent(Extent& value) { value = read_extent(); }
  int type(PlanIo& io) {
    const PlacedView own = typed();
    io.dtype = own.dtype;
    io.q = own.q;
    io.shape = to_.list<int64_t>(own.rank);
    std::copy_n(own.shape.begin(), io.shape.size(), io.shape.begin());
    if (good()) io.bytes = own.volume() * dtype_size(own.dtype);
    return own.rank;
  }
  void content(PlanBuffer& buffer) {
    const std::span<const std::byte> bytes = constant(from_.number(-1, INT32_MAX));
    const bool is_constant = buffer.kind == BufferKind::kConst;
    if (is_constant && stores() && static_cast<int64_t>(bytes.size()) != buffer.bytes) {
      from_.fail("a buffer and its constant have different sizes");
    }
    if (bytes.empty()) return;
    if (is_constant) {
      buffer.data = std::shared_ptr<const void>(std::shared_ptr<const void>(), bytes.data());
    } else {
      // The cast is safe: no step writes to it.
      buffer.initial = List<std::byte>::at(const_cast<std::byte*>(bytes.data()), bytes.size());
    }
  }
  void require(bool holds, const char* why, const char* name) {
    if (!holds) from_.fail(why, name);
  }
  int64_t count(size_t) { return from_.count(); }
  /// Elements are read even if there is no memory for them.
  template <class Each, class... T>
  void many(int64_t count, const Each& each, List<T>&... lists) {
    if constexpr ((std::is_same_v<T, PlanBuffer> || ...)) buffers_ = count;
    if constexpr ((std::is_same_v<T, PlanState> || ...)) states_ = count;
    ((lists = to_.list<T>(count)), ...);
    for (int64_t i = 0; i < count && good(); ++i) {
      std::tuple<T...> one;
      std::apply(each, one);
      if (stores()) put(one, static_cast<size_t>(i), lists...);
    }
  }

  void field(std::string_view, int64_t& value) override { value = from_.number(); }
  void field(std::string_view, double& value) override { value = from_.real(); }
  void field(std::string_view, Text& value) override { value = to_.text(from_.text()); }
  void field(std::string_view, Dim&) override { lacks("expressions of graphs"); }
  void field(std::string_view, TensorPtr&) override { lacks("tensors"); }
  void field(std::string_view, OpPtr&) override { lacks("operators"); }
  void field(std::string_view, Extent& value) override { value = read_extent(); }
  void field(std::string_view, Ref& value) override {
    const uint64_t buffer = from_.natural();
    if (buffer >= static_cast<uint64_t>(buffers_)) from_.fail("there is no such buffer");
    value.buffer = good() ? static_cast<uint32_t>(buffer) : 0;
    value.offset = from_.number(-kMostMemoryBytes, kMostMemoryBytes, "offset");
  }
  void field(std::string_view, PlacedView& value) override {
    value = typed();
    for (size_t axis = 0; axis < static_cast<size_t>(value.rank); ++axis) {
      value.stride[axis] = from_.number(-kMostPlanStride, kMostPlanStride, "stride");
    }
    field({}, value.ref);
  }
  void field(std::string_view, List<Step>& value) override { value = steps(); }
  void kernel(std::string_view, std::span<const KernelName> names, int64_t& index) override {
    index = -1;
    const int64_t number = from_.number(-1, INT32_MAX);
    if (number < 0 || !good()) return;
    const std::string_view wanted = name_of(kernel_names_, number);
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i].name == wanted && names[i].runs) index = static_cast<int64_t>(i);
    }
    if (index < 0) lacks_named("kernel", wanted);
  }
  void address(std::string_view, bool) override {}
  void begin(std::string_view) override {}
  void begin_list(std::string_view, int64_t& count) override { count = from_.count(); }
  void end() override {}
  bool stores() const override { return to_.stores(); }
  void* memory(int64_t bytes, size_t alignment) override { return to_.take(bytes, alignment); }
  void wrong(std::string_view) override { from_.fail("a number of a step does not fit its type"); }

 private:
  // The arguments of every kind of step fit; long arguments are lists, which are stored elsewhere.
  static constexpr size_t kMostArgs = 8192;

  bool good() const { return refused_.ok() && from_.good(); }
  void lacks(const char* what) {
    if (!good()) return;
    refused_ = refusal(Code::kUnsupported, runner_.remedies.operators,
                       "the plan has steps with %s, which only the whole library runs", what);
    from_.fail("");
  }
  void lacks_named(const char* what, std::string_view name) {
    if (!good()) return;
    refused_ = refusal(Code::kUnsupported, runner_.remedies.missing,
                       "the plan needs the %s \"%.*s\", which this build does not have", what,
                       static_cast<int>(name.size()), name.data());
    from_.fail("");
  }

  template <class T, class Read>
  List<T> list(const Read& read, int64_t* elements = nullptr) {
    const int64_t count = from_.count();
    if (elements != nullptr) *elements = count;
    List<T> all = to_.list<T>(count);
    for (int64_t i = 0; i < count && good(); ++i) {
      T one;
      read(stores() ? &all[static_cast<size_t>(i)] : &one);
    }
    return all;
  }

  /// Skip a list of names, and return its start.
  Record skip_names() {
    const Record names = from_;
    const int64_t count = from_.count(plan_file::kMostNames);
    for (int64_t i = 0; i < count && good(); ++i) from_.text();
    return names;
  }
  std::string_view name_of(Record names, int64_t number) {
    const int64_t count = names.count();
    if (number >= count) {
      from_.fail("a step refers to a part that the file does not have");
      return {};
    }
    std::string_view name;
    for (int64_t i = 0; i <= number; ++i) name = names.text();
    return name;
  }
  const StepKind* kind_of(int64_t number) {
    const std::string_view name = name_of(kind_names_, number);
    if (!good()) return nullptr;
    for (const StepKind* kind : runner_.kinds) {
      if (name == kind->name) return kind;
    }
    lacks_named("kind of steps", name);
    return nullptr;
  }
  /// Return the bytes of a constant; empty for number -1, or if nothing is stored.
  std::span<const std::byte> constant(int64_t number) {
    if (number >= constant_count_)
      from_.fail("a buffer refers to a part that the file does not have");
    if (number < 0 || !good() || !stores()) return {};
    return all_constants_[static_cast<size_t>(number)];
  }

  PlacedView typed() {
    const ReadType type = read_type(from_);
    PlacedView out;
    out.dtype = type.dtype;
    out.q = type.q;
    out.rank = type.rank;
    out.shape = type.shape;
    return out;
  }
  template <class... T>
  static void put(std::tuple<T...>& one, size_t at, List<T>&... lists) {
    ((lists[at] = std::move(std::get<T>(one))), ...);
  }

  void read_nodes(std::span<const std::byte> notes, Plan* plan) {
    plan->nodes = to_.list<PlanNode>(nodes_);
    if (notes.empty()) return;
    from_ = Record(notes);
    if (from_.count() != nodes_) from_.fail("its notes belong to another plan");
    for (int64_t i = 0; i < nodes_ && good(); ++i) {
      Text name = to_.text(from_.text());
      Text op = to_.text(from_.text());
      if (!stores()) continue;
      plan->nodes[static_cast<size_t>(i)].name = std::move(name);
      plan->nodes[static_cast<size_t>(i)].op = std::move(op);
    }
  }

  Extent read_extent() {
    Record ahead = from_;
    int64_t count = 0;
    bool known = true;
    plan_file::walk_extent(&ahead, [&](const Extent::Part&, bool has_value) {
      ++count;
      known &= has_value;
    });
    List<Extent::Part> parts = to_.list<Extent::Part>(known ? count : 0);
    size_t at = 0;
    plan_file::walk_extent(&from_, [&](const Extent::Part& part, bool) {
      if (known && stores()) parts[at] = part;
      ++at;
    });
    Extent out(std::move(parts));
    if (good() && !out.sound()) from_.fail("an expression is malformed");
    return out;
  }

  List<Step> steps() {
    if (++depth_ > kMaxLoopDepth) from_.fail("its loops are nested too deep");
    List<Step> all = list<Step>([&](Step* step) { read_step(step); });
    --depth_;
    return all;
  }
  void read_step(Step* step) {
    const StepKind* const kind = kind_of(from_.number(0, INT32_MAX));
    if (kind == nullptr) return;
    step->run = kind->run;
    step->kind = kind;
    step->node = static_cast<int>(from_.number(-1, INT32_MAX));
    step->parts.units = from_.number();
    step->parts.most = from_.number();
    field({}, step->parts.scratch);
    void* const place = to_.take(static_cast<int64_t>(kind->args_bytes), kind->args_alignment);
    alignas(64) std::byte counted[kMostArgs];
    if (kind->args_bytes > kMostArgs)
      return from_.fail("a step has more arguments than its record");
    void* const args = stores() ? place : counted;
    kind->construct(args);
    kind->describe(args, *this);
    step->args = place;
  }

  Record from_;
  Record kind_names_{{}};
  Record kernel_names_{{}};
  std::span<const std::byte> constants_;
  List<std::span<const std::byte>> all_constants_;
  const Runner& runner_;
  Memory& to_;
  int64_t constant_count_ = 0;
  int64_t buffers_ = 0;
  int64_t states_ = 0;
  int64_t nodes_ = 0;
  int depth_ = 0;
  Refusal refused_;
};

Refusal damaged(const char* how) {
  return refusal(Code::kParse, "Compile the model again, or copy the file again",
                 "not a plan file of rill: %s", how);
}

/// Find the best target of a file.
Refusal find_target(std::span<const std::byte> file, const Runner& runner, Header* header,
                    TargetEntry* best) {
  if (file.size() < sizeof(Header) ||
      std::memcmp(file.data(), plan_file::kMagic.data(), plan_file::kMagic.size()) != 0) {
    return damaged("its first bytes are wrong");
  }
  std::memcpy(header, file.data(), sizeof *header);
  if (header->byte_order != plan_file::kByteOrder) {
    return refusal(Code::kAbi, "", "the plan file is for machines of another byte order");
  }
  if (header->version != plan_file::kVersion) {
    return refusal(Code::kAbi, "Compile the model with the version of rill that opens the file",
                   "a plan file of version %lu: this library reads %lu",
                   static_cast<unsigned long>(header->version),
                   static_cast<unsigned long>(plan_file::kVersion));
  }
  const auto size = static_cast<int64_t>(file.size());
  if (header->bytes != size) return damaged("its size differs from its header");
  if (!adds_up(*header, size)) return damaged("its sizes contradict each other");
  if (reinterpret_cast<uintptr_t>(file.data()) % kAlign != 0) {
    return refusal(Code::kArg, "Align it, as what --embed writes is",
                   "a plan file in memory that is not aligned to %d bytes",
                   static_cast<int>(kAlign));
  }
  int rank = -1;
  std::array<char, 16> first_name{};
  for (uint32_t i = 0; i < header->targets; ++i) {
    TargetEntry target;
    std::memcpy(&target, file.data() + sizeof(Header) + i * sizeof target, sizeof target);
    if (!lies_inside(target, *header)) return damaged("a record lies outside of it");
    if (i == 0) first_name = target.name;
    const int own = runner.rank(target.name.data());
    if (own <= rank) continue;
    rank = own;
    *best = target;
  }
  if (rank >= 0) return {};
  return refusal(Code::kUnsupported, runner.remedies.other_target,
                 "a plan for %s%s, which this CPU or build does not run", first_name.data(),
                 header->targets > 1 ? " and others" : "");
}

}  // namespace

Refusal place_plan(std::span<const std::byte> file, std::span<std::byte> memory,
                   const Runner& runner, PlacedPlan* placed) {
  if (reinterpret_cast<uintptr_t>(memory.data()) % kAlign != 0) {
    return refusal(Code::kArg, "", "memory for a plan that is not aligned to %d bytes",
                   static_cast<int>(kAlign));
  }
  Header header{};
  TargetEntry target{};
  Refusal refused = find_target(file, runner, &header, &target);
  if (!refused.ok()) return refused;
  const auto at = [&](const plan_file::Place& place) {
    return file.subspan(static_cast<size_t>(place.begin), static_cast<size_t>(place.bytes));
  };
  Memory to(memory);
  Plan counted;
  auto* const place = static_cast<Plan*>(to.take(sizeof(Plan), alignof(Plan)));
  Plan* const plan = to.stores() ? new (place) Plan() : &counted;
  PlanReader reader(at(target.plan), file.subspan(static_cast<size_t>(header.constants)), runner,
                    &to);
  refused = reader.read(at(target.notes), plan);
  if (!refused.ok()) return refused;
  placed->bytes = to.used();
  placed->properties = at(target.properties);
  if (to.stores()) placed->plan = plan;
  if (to.stores() || memory.empty()) return {};
  return refusal(Code::kNoMem, "", "memory of %lld bytes for a plan that takes %lld",
                 static_cast<long long>(memory.size()), static_cast<long long>(to.used()));
}

}  // namespace rill
