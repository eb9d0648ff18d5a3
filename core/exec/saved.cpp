#include "core/exec/saved.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/base/checked.h"
#include "core/base/hasher.h"
#include "core/base/limits.h"
#include "core/exec/saved_bytes.h"
#include "core/tensor/row_major.h"

namespace rill {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "saved states are little-endian");

namespace {

constexpr char kMagic[8] = {'r', 'i', 'l', 'l', 's', 't', 'a', 't'};
constexpr uint32_t kVersion = 2;

View row_major(const View& like, void* data) {
  View view = like;
  lay_row_major(&view);
  view.data = data;
  return view;
}

/// Return the bytes of a static output; 0 if it streams.
int64_t value_bytes(const PlanIo& io) { return io.stream.axis < 0 ? io.bytes : 0; }

uint64_t checksum(const std::byte* data, int64_t size) {
  Hasher hash;
  hash.bytes(data, static_cast<size_t>(size));
  return hash.value()[0];
}

}  // namespace

struct SavedState::Header {
  char magic[8];
  uint32_t version;
  uint32_t header_bytes;
  int64_t bytes;
  uint64_t checksum;  ///< checksum of all following bytes
  Fingerprint model;
  int64_t position;  ///< stepped frames, in the stream symbol
  int64_t end;       ///< value of the stream symbol; -1 while unknown
  int64_t unit;      ///< frames of the stream symbol per step
  uint32_t wires;
  uint32_t states;
  uint32_t inputs;
  uint32_t outputs;
  uint32_t values;
  uint32_t end_is_news;  ///< 1: no step has run since the end was announced
};

/// A named value; a ring if `axis` is not -1.
struct SavedState::Entry {
  std::string_view name;
  int64_t axis = -1;
  View value;  ///< row-major, in the saved bytes
};

struct SavedState::Rows {
  int64_t frames = 0;
  int64_t frame_bytes = 0;
  const std::byte* data = nullptr;
};

struct SavedState::Parsed {
  Header header;
  std::span<const int64_t> delays;
  std::vector<Entry> entries;
  std::vector<Rows> inputs;
  std::vector<Rows> outputs;
  std::vector<std::span<const std::byte>> values;  ///< values of static outputs
  // Copies that are made before the session changes, so that no later operation can fail.
  std::vector<PlacedFeed::Rows> early_inputs;
  std::vector<PlacedFeed::Rows> early_outputs;
};

View SavedState::view_of(const PlanState& state) const {
  const PlacedView& value = state.value;
  return value.at(session_.base_[value.ref.buffer] + value.ref.offset);
}

void SavedState::write_states(StateWriter* writer) const noexcept {
  const Plan& plan = *session_.plan_;
  for (const PlanState& state : plan.states) {
    const View view = view_of(state);
    const auto name_bytes = static_cast<int64_t>(state.name.size());
    writer->number(name_bytes);
    writer->copy(state.name.data(), name_bytes);
    writer->number(static_cast<int64_t>(view.dtype));
    writer->number(state.axis);
    writer->number(view.rank);
    for (int i = 0; i < view.rank; ++i) writer->number(view.extent(i));
    std::byte* data = writer->take(view.volume() * dtype_size(view.dtype));
    if (data && view.volume() > 0) copy_plain(view, row_major(view, data));
  }
}

void SavedState::write_inputs(StateWriter* writer) const noexcept {
  const Plan& plan = *session_.plan_;
  for (size_t i = 0; feed_ && i < plan.inputs.size(); ++i) {
    const PlacedFeed::In& in = feed_->kept_.ins[i];
    writer->number(in.axis < 0 ? 0 : in.filled + in.left());
    writer->number(in.frame_bytes);
    if (in.axis < 0) continue;
    // `push` fills the buffer first. Frames of a loaded state, and frames that wait for other
    // inputs, come after it.
    std::byte* data = writer->take((in.filled + in.left()) * in.frame_bytes);
    if (!data) continue;
    const View buffer = session_.input(i);
    copy_plain(frames_of(buffer, in.axis, 0, in.filled),
              frame_rows(buffer, in.axis, in.filled, data));
    write_waiting(in, data + in.filled * in.frame_bytes);
  }
}

/// Write all queued frames; return the end of the written bytes.
std::byte* SavedState::write_waiting(const PlacedFeed::Waiting& from,
                                     std::byte* to) const noexcept {
  const auto append = [&](const std::byte* rows, int64_t frames) {
    const int64_t bytes = frames * from.frame_bytes;
    // A frame may have no bytes.
    if (bytes > 0) std::memcpy(to, rows, static_cast<size_t>(bytes));
    to += bytes;
  };
  append(from.early.next(from.frame_bytes), from.early.left());
  const int64_t first = std::min(from.queued, from.capacity - from.head);
  append(feed_->queue(from) + from.head * from.frame_bytes, first);
  append(feed_->queue(from), from.queued - first);
  return to;
}

void SavedState::write_outputs(StateWriter* writer) const noexcept {
  const Plan& plan = *session_.plan_;
  for (size_t i = 0; feed_ && i < plan.outputs.size(); ++i) {
    const PlacedFeed::Out& out = feed_->kept_.outs[i];
    const int64_t early = out.early.left();
    writer->number(out.axis < 0 ? 0 : early + out.queued + out.rest);
    writer->number(out.frame_bytes);
    if (out.axis < 0) continue;
    std::byte* data = writer->take((early + out.queued + out.rest) * out.frame_bytes);
    if (!data) continue;
    data = write_waiting(out, data);
    const View buffer = session_.output(i);
    copy_plain(frames_of(buffer, out.axis, out.first, out.rest),
              frame_rows(buffer, out.axis, out.rest, data));
  }
}

SavedState::Header SavedState::header_of(int64_t bytes) const noexcept {
  const Plan& plan = *session_.plan_;
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kVersion;
  header.header_bytes = sizeof(Header);
  header.bytes = bytes;
  header.model = plan.model;
  header.position = session_.position(plan.stream_pulse);
  header.end = session_.end();
  header.unit = plan.stream_pulse;
  header.wires = static_cast<uint32_t>(plan.wire_delays.size());
  header.states = static_cast<uint32_t>(plan.states.size());
  header.inputs = feed_ ? static_cast<uint32_t>(plan.inputs.size()) : 0;
  header.outputs = feed_ ? static_cast<uint32_t>(plan.outputs.size()) : 0;
  header.values = static_cast<uint32_t>(plan.outputs.size());
  header.end_is_news = session_.progress_.end_is_news ? 1 : 0;
  return header;
}

int64_t SavedState::save(std::span<std::byte> to) const noexcept {
  const Plan& plan = *session_.plan_;
  StateWriter writer(to);
  std::byte* head = writer.take(sizeof(Header));
  for (const int64_t delay : plan.wire_delays) writer.number(delay);
  write_states(&writer);
  write_inputs(&writer);
  write_outputs(&writer);
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const int64_t bytes = value_bytes(plan.outputs[i]);
    writer.number(bytes);
    if (bytes > 0) writer.copy(session_.output(i).data, bytes);
  }
  if (!writer.fits()) return -1;
  Header header = header_of(writer.at());
  std::memcpy(head, &header, sizeof header);
  constexpr int64_t kSummed = offsetof(Header, checksum) + sizeof(uint64_t);
  header.checksum = checksum(head + kSummed, header.bytes - kSummed);
  std::memcpy(head, &header, sizeof header);
  return header.bytes;
}

int64_t SavedState::most_bytes() const {
  const Plan& plan = *session_.plan_;
  int64_t bytes = sizeof(Header) + 8 * static_cast<int64_t>(plan.wire_delays.size());
  for (const PlanState& state : plan.states) {
    bytes += 8 * (4 + state.value.rank) + padded(static_cast<int64_t>(state.name.size()));
    bytes += padded(state.value.volume() * dtype_size(state.value.dtype));
  }
  for (size_t i = 0; feed_ && i < plan.inputs.size(); ++i) {
    const PlacedFeed::In& in = feed_->kept_.ins[i];
    const int64_t frames =
        in.axis < 0 ? 0 : plan.inputs[i].stream.pulse + in.capacity + in.early.count;
    bytes += 16 + padded(frames * in.frame_bytes);
  }
  for (size_t i = 0; feed_ && i < plan.outputs.size(); ++i) {
    const PlacedFeed::Out& out = feed_->kept_.outs[i];
    const int64_t frames =
        out.axis < 0 ? 0 : plan.outputs[i].stream.pulse + out.capacity + out.early.count;
    bytes += 16 + padded(frames * out.frame_bytes);
  }
  for (const PlanIo& io : plan.outputs) bytes += 8 + padded(value_bytes(io));
  return bytes;
}

namespace {

Status damaged(std::string_view how) { return fail(Code::kParse, "not a saved state: ", how); }

}  // namespace

Status SavedState::read(StateReader* reader, Parsed* out) const {
  const Header& header = out->header;
  const std::byte* delays = reader->take(8 * static_cast<int64_t>(header.wires));
  if (!delays) return damaged("it is truncated");
  out->delays = {reinterpret_cast<const int64_t*>(delays), header.wires};
  for (uint32_t s = 0; s < header.states; ++s) {
    Entry entry;
    const int64_t name_bytes = reader->number();
    const std::byte* name = reader->take(name_bytes);
    if (!name) return damaged("it is truncated");
    entry.name = {reinterpret_cast<const char*>(name), static_cast<size_t>(name_bytes)};
    const int64_t dtype = reader->number();
    entry.axis = reader->number();
    const int64_t rank = reader->number();
    if (dtype < 0 || dtype > static_cast<int64_t>(DType::kBlob) || rank < 0 || rank > kMaxRank ||
        entry.axis < -1 || entry.axis >= rank) {
      return damaged("a type, rank or axis is invalid");
    }
    entry.value.dtype = static_cast<DType>(dtype);
    entry.value.rank = static_cast<int>(rank);
    for (size_t i = 0; i < static_cast<size_t>(rank); ++i) entry.value.shape[i] = reader->number();
    const auto volume = checked_volume({entry.value.shape.data(), static_cast<size_t>(rank)});
    const auto bytes = volume ? checked_mul(*volume, dtype_size(entry.value.dtype)) : std::nullopt;
    const std::byte* data = bytes ? reader->take(*bytes) : nullptr;
    if (!data) return damaged("it is truncated");
    entry.value = row_major(entry.value, const_cast<std::byte*>(data));
    out->entries.push_back(entry);
  }
  for (auto* queues : {&out->inputs, &out->outputs}) {
    const uint32_t count = queues == &out->inputs ? header.inputs : header.outputs;
    for (uint32_t i = 0; i < count; ++i) {
      Rows rows;
      rows.frames = reader->number();
      rows.frame_bytes = reader->number();
      const auto bytes = checked_mul(rows.frames, rows.frame_bytes);
      rows.data = bytes ? reader->take(*bytes) : nullptr;
      if (!rows.data) return damaged("it is truncated");
      queues->push_back(rows);
    }
  }
  for (uint32_t i = 0; i < header.values; ++i) {
    const int64_t bytes = reader->number();
    const std::byte* data = reader->take(bytes);
    if (!data) return damaged("it is truncated");
    out->values.emplace_back(data, static_cast<size_t>(bytes));
  }
  if (!reader->good() || !reader->at_end()) return damaged("its sizes contradict each other");
  return {};
}

/// Check that the stream can continue at this position, where every wire must have whole frames.
Status SavedState::check_position(const Header& header) const {
  const Plan& plan = *session_.plan_;
  const int64_t unit = plan.stream_pulse;
  const bool sane = header.position >= 0 && header.position <= kMostPosition && header.end >= -1 &&
                    header.end <= kMostPosition;
  if (!sane) return damaged("a position is invalid");
  const auto suits = [&](int64_t pulse) {
    const auto scaled = checked_mul(header.position, pulse);
    return scaled && *scaled % unit == 0;
  };
  const auto refuse = [&](std::string_view what, std::string_view name) {
    return fail(Code::kState, "the state is at ", plan.stream_symbol, "=", header.position,
                ", in the middle of a frame of ", what, " ", name);
  };
  const bool whole = header.position % unit == 0;
  if (header.position % plan.begin_unit != 0 || (!whole && header.position < plan.settled)) {
    const int64_t multiple = header.position < plan.settled ? unit : plan.begin_unit;
    return fail(Code::kState, "the state is at ", plan.stream_symbol, "=", header.position,
                ", where no pulse of ", unit, " begins: only at multiples of ", multiple)
        .hint(str_cat("Save it at one of these, or load it into a plan of the same pulse, ",
                      header.unit));
  }
  for (const PlanIo& io : plan.inputs) {
    if (io.stream.axis >= 0 && !suits(io.stream.pulse)) return refuse("input", io.name);
  }
  for (const PlanIo& io : plan.outputs) {
    if (io.stream.axis >= 0 && !suits(io.stream.pulse)) return refuse("output", io.name);
  }
  for (const PlanState& state : plan.states) {
    if (state.axis >= 0 && !suits(state.pulse)) return refuse("wire", state.name);
  }
  return {};
}

Status SavedState::check_wires(std::span<const int64_t> delays, int64_t unit) const {
  const Plan& plan = *session_.plan_;
  if (delays.size() != plan.wire_delays.size()) {
    return fail(Code::kState, "the state has ", delays.size(), " wires, the plan ",
                plan.wire_delays.size());
  }
  for (size_t i = 0; i < delays.size(); ++i) {
    if (delays[i] == plan.wire_delays[i]) continue;
    return fail(Code::kState, "the state cannot move from pulse ", unit, " to pulse ",
                plan.stream_pulse, ": \"", plan.wires[i], "\" lags by ",
                counted(delays[i], "frame"), " there and by ", plan.wire_delays[i], " here")
        .hint("Load it into a plan with a pulse that gives the same delays, such as its own");
  }
  return {};
}

/// Finds the entry of each state in nearly linear time: entries are sorted by all values that must
/// be equal.
class SavedState::Finder {
 public:
  explicit Finder(const std::vector<Entry>& entries) {
    for (const Entry& entry : entries) {
      all_.push_back({entry.name, entry.axis, entry.value, frames_of(entry.value, entry.axis),
                      &entry, 0});
    }
    std::stable_sort(all_.begin(), all_.end(), Less{});
    // Drop entries of a wire that do not have more frames than all earlier ones: `find` takes the
    // first entry that has enough.
    size_t kept = 0;
    for (size_t i = 0; i < all_.size(); ++i) {
      const bool same = kept > 0 && !Less{}(all_[kept - 1], all_[i]);
      if (same && all_[i].axis >= 0 && all_[i].frames <= all_[kept - 1].frames) continue;
      all_[kept++] = all_[i];
    }
    all_.resize(kept);
  }

  /// Return the first entry with at least `frames` frames; null if there is none. Several rings may
  /// share one entry of a wire. States of nodes are matched in order, each once.
  const Entry* find(const PlanState& state, const View& own, int64_t frames) {
    const Key wanted{state.name, state.axis, own, frames, nullptr, 0};
    const auto range = std::equal_range(all_.begin(), all_.end(), wanted, Less{});
    if (state.axis >= 0) {
      const auto found = std::partition_point(
          range.first, range.second, [&](const Key& each) { return each.frames < frames; });
      return found == range.second ? nullptr : found->entry;
    }
    if (range.first == range.second) return nullptr;
    const size_t taken = range.first->taken;
    if (taken == static_cast<size_t>(range.second - range.first)) return nullptr;
    ++range.first->taken;
    return range.first[static_cast<std::ptrdiff_t>(taken)].entry;
  }

 private:
  struct Key {
    std::string_view name;
    int64_t axis;
    View value;
    int64_t frames;
    const Entry* entry;
    size_t taken;  ///< entries with this key that were already returned; counted in the first of
                   ///< them
  };
  struct Less {
    bool operator()(const Key& a, const Key& b) const {
      const auto head = [](const Key& key) {
        return std::tuple(key.name, key.axis, key.value.dtype, key.value.rank);
      };
      if (head(a) != head(b)) return head(a) < head(b);
      for (int axis = 0; axis < a.value.rank; ++axis) {
        if (axis == a.axis || a.value.extent(axis) == b.value.extent(axis)) continue;
        return a.value.extent(axis) < b.value.extent(axis);
      }
      return false;
    }
  };
  static int64_t frames_of(const View& value, int64_t axis) {
    return axis >= 0 && axis < value.rank ? value.extent(static_cast<int>(axis)) : 0;
  }

  std::vector<Key> all_;
};

Result<std::vector<const SavedState::Entry*>> SavedState::match(const Parsed& parsed) const {
  const Plan& plan = *session_.plan_;
  std::vector<const Entry*> out;
  Finder finder(parsed.entries);
  for (const PlanState& state : plan.states) {
    const View own = view_of(state);
    // In a ring, frames from before the start of the stream come from the plan.
    const int64_t begun =
        state.axis < 0 ? 0 : scaled(parsed.header.position, state.pulse, plan.stream_pulse);
    const int64_t needed = state.axis < 0 ? 0 : std::min(own.extent(state.axis), begun);
    const Entry* const found = finder.find(state, own, needed);
    if (!found) {
      const PlanNode& node = plan.nodes[static_cast<size_t>(std::max(0, state.node))];
      return fail(Code::kState, "the state cannot move from pulse ", parsed.header.unit,
                  " to pulse ", plan.stream_pulse, ": it does not hold what \"", state.name,
                  "\" keeps")
          .in_node(node.name, node.op)
          .hint("Load it into a plan made with the same pulse and options");
    }
    out.push_back(found);
  }
  return out;
}

Status SavedState::check_queues(const Parsed& parsed) const {
  const Plan& plan = *session_.plan_;
  const auto check = [&](const std::vector<Rows>& saved, const List<PlanIo>& ios,
                         auto own_bytes) -> Status {
    if (saved.empty()) return {};
    if (saved.size() != ios.size()) return damaged("its inputs or outputs are not the model's");
    for (size_t i = 0; i < saved.size(); ++i) {
      if (saved[i].frames == 0) continue;
      if (!feed_ || saved[i].frame_bytes != own_bytes(i)) {
        return damaged("its inputs or outputs are not the model's");
      }
    }
    return {};
  };
  RILL_TRY(
      check(parsed.inputs, plan.inputs, [&](size_t i) { return feed_->kept_.ins[i].frame_bytes; }));
  RILL_TRY(check(parsed.outputs, plan.outputs,
                 [&](size_t i) { return feed_->kept_.outs[i].frame_bytes; }));
  const bool values_fit =
      std::equal(parsed.values.begin(), parsed.values.end(), plan.outputs.begin(),
                 plan.outputs.end(), [](std::span<const std::byte> value, const PlanIo& io) {
                   return static_cast<int64_t>(value.size()) == value_bytes(io);
                 });
  return values_fit ? Status() : damaged("its outputs are not the model's");
}

void SavedState::copy_queues(Parsed* parsed) {
  const auto copy = [](const std::vector<Rows>& saved) {
    std::vector<PlacedFeed::Rows> rows(saved.size());
    for (size_t i = 0; i < saved.size(); ++i) {
      rows[i].count = saved[i].frames;
      rows[i].bytes.assign(saved[i].data, saved[i].data + saved[i].frames * saved[i].frame_bytes);
    }
    return rows;
  };
  parsed->early_inputs = copy(parsed->inputs);
  parsed->early_outputs = copy(parsed->outputs);
}

void SavedState::apply(Parsed&& parsed, std::span<const Entry* const> matches) noexcept {
  const Plan& plan = *session_.plan_;
  session_.reset();
  session_.progress_.clock.start = parsed.header.position;
  session_.announce_end(parsed.header.end);
  session_.progress_.end_is_news &= parsed.header.end_is_news != 0;
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const std::span<const std::byte> value = parsed.values[i];
    if (!value.empty()) std::memcpy(session_.output(i).data, value.data(), value.size());
  }
  for (size_t s = 0; s < plan.states.size(); ++s) {
    const PlanState& state = plan.states[s];
    const View own = view_of(state);
    if (own.volume() == 0) continue;
    if (state.axis < 0) {
      copy_plain(matches[s]->value, own);
      continue;
    }
    const int64_t begun = scaled(parsed.header.position, state.pulse, plan.stream_pulse);
    const int64_t frames = std::min(own.extent(state.axis), begun);
    const View& saved = matches[s]->value;
    copy_plain(frames_of(saved, state.axis, saved.extent(state.axis) - frames, frames),
              frames_of(own, state.axis, own.extent(state.axis) - frames, frames));
  }
  if (!feed_) return;
  feed_->reset();
  for (size_t i = 0; i < parsed.early_inputs.size(); ++i) {
    feed_->kept_.ins[i].early = std::move(parsed.early_inputs[i]);
  }
  for (size_t i = 0; i < parsed.early_outputs.size(); ++i) {
    feed_->kept_.outs[i].early = std::move(parsed.early_outputs[i]);
  }
}

Status SavedState::load(std::span<const std::byte> from) {
  const Plan& plan = *session_.plan_;
  Parsed parsed;
  if (from.size() < sizeof(Header)) return damaged("it is too short");
  Header& header = parsed.header;
  std::memcpy(&header, from.data(), sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) {
    return damaged("its first bytes are wrong");
  }
  if (header.version != kVersion || header.header_bytes != sizeof(Header)) {
    return fail(Code::kParse, "a saved state of version ", header.version, ": this library reads ",
                kVersion);
  }
  const auto size = static_cast<int64_t>(from.size());
  if (header.bytes != size) {
    return damaged(str_cat("it has ", size, " bytes of ", header.bytes));
  }
  constexpr int64_t kSummed = offsetof(Header, checksum) + sizeof(uint64_t);
  if (header.checksum != checksum(from.data() + kSummed, size - kSummed)) {
    return damaged("its checksum is wrong");
  }
  if (header.model != plan.model) {
    return fail(Code::kState, "the state of another model: ", to_text(header.model), ", expected ",
                to_text(plan.model))
        .hint("A state moves only between plans of one model with the same values of symbols");
  }
  StateReader reader(from.subspan(sizeof(Header)));
  RILL_TRY(read(&reader, &parsed));
  RILL_TRY(check_position(header));
  RILL_TRY(check_wires(parsed.delays, header.unit));
  RILL_ASSIGN(const std::vector<const Entry*> matches, match(parsed));
  RILL_TRY(check_queues(parsed));
  copy_queues(&parsed);
  apply(std::move(parsed), matches);
  return {};
}

}  // namespace rill
