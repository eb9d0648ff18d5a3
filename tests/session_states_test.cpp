// The table of docs/sessions.md: the calls that each session state allows, and the state after
// each. The test makes every pair of calls in every state.

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/runs.h"

namespace rill::test {
namespace {

using Row = std::map<std::string, std::string>;  ///< the effect of a call, by session state

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> out;
  std::stringstream text(line);
  std::string cell;
  std::getline(text, cell, '|');
  while (std::getline(text, cell, '|')) {
    const size_t first = cell.find_first_not_of(" `");
    const size_t last = cell.find_last_not_of(" `");
    out.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
  }
  return out;
}

std::map<std::string, Row> read_table() {
  std::map<std::string, Row> table;
  std::ifstream page(RILL_SOURCE_DIR "/docs/sessions.md");
  std::vector<std::string> states;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| call |")) states = cells(line);
    if (!line.starts_with("| `rill_")) continue;
    const std::vector<std::string> row = cells(line);
    EXPECT_EQ(row.size(), states.size()) << line;
    for (size_t i = 1; i < row.size() && i < states.size(); ++i)
      table[row[0]][states[i]] = row[i];
  }
  return table;
}

constexpr char kText[] = R"(version 1.0;
extension tract_registry tract_core;
extension tract_symbol S;
graph network(x) -> (y)
{
  x = tract_core_external(shape = [1, 1, S], datum_type = 'f32');
  y = x * 2.0;
}
)";

constexpr int64_t kPulse = 4;

Opened open(bool streams) {
  rill_model* raw = nullptr;
  if (rill_load_memory(kText, sizeof(kText) - 1, nullptr, &raw) != RILL_OK) return {};
  const ModelPtr model(raw);
  const rill_status ready =
      streams ? rill_model_pulse(raw, "S", "4") : rill_model_set_symbol(raw, "S", "4");
  return ready == RILL_OK ? open_session(raw) : Opened{};
}

/// A session with one call of each kind.
class Calls {
 public:
  explicit Calls(bool streams) : opened_(open(streams)) {
    // A state with a waiting frame, for sessions that load one.
    if (streams) save();
    session_ = opened_.session.get();
  }

  rill_session* session() { return session_; }

  rill_status make(const std::string& call) {
    const std::map<std::string, std::function<rill_status()>> calls = {
        {"rill_run", [&] { return rill_run(session_, &view_, 1, &out_view_, 1); }},
        {"rill_step", [&] { return rill_step(session_); }},
        {"rill_step_timed", [&] { return step_timed(); }},
        {"rill_step_together", [&] { return step_together(); }},
        {"rill_step_partial", [&] { return rill_step_partial(session_, 2); }},
        {"rill_flush", [&] { return rill_flush(session_, &moved_); }},
        {"rill_push", [&] { return rill_push(session_, 0, &view_, &moved_); }},
        {"rill_pull", [&] { return rill_pull(session_, 0, &out_view_, &moved_); }},
        {"rill_finish", [&] { return rill_finish(session_); }},
        {"rill_state_size", [&] { return rill_state_size(session_, &size_); }},
        {"rill_state_save",
         [&] { return rill_state_save(session_, room_.data(), room_.size() * 8, &size_); }},
        {"rill_state_load", [&] { return rill_state_load(session_, state_.data(), state_size_); }},
        {"rill_session_clone", [&] { return go_on_in_a_clone(); }},
        {"rill_session_reset", [&] { return rill_session_reset(session_); }},
        {"rill_bind_input", [&] { return rill_bind_input(session_, 0, &bound_); }},
        {"rill_bind_output", [&] { return rill_bind_output(session_, 0, nullptr); }},
        {"rill_input_buffer", [&] { return rill_input_buffer(session_, 0, &found_); }},
        {"rill_output_buffer", [&] { return rill_output_buffer(session_, 0, &found_); }},
        {"rill_session_set_threads", [&] { return rill_session_set_threads(session_, nullptr); }},
        {"rill_session_bytes",
         [&] { return rill_session_bytes(session_) > 0 ? RILL_OK : RILL_E_INTERNAL; }},
        {"rill_position", [&] { return rill_position(session_, 0, &moved_, &other_); }},
        {"rill_valid_frames", [&] { return rill_valid_frames(session_, 0, &moved_, &other_); }},
    };
    const auto found = calls.find(call);
    if (found == calls.end()) ADD_FAILURE() << "the table has a call that is not tried: " << call;
    return found == calls.end() ? RILL_E_INTERNAL : found->second();
  }

  /// Move a new session into a state.
  void reach(const std::string& state) {
    const std::map<std::string, std::vector<std::string>> routes = {
        {"whole", {}},
        {"new", {}},
        {"stepped", {"rill_step"}},
        {"pushed", {"rill_push"}},
        {"ended", {"end", "rill_state_load"}},
        {"stepped to the end", {"rill_step", "rill_step_partial"}},
        {"pushed to the end", {"rill_push", "rill_finish"}},
    };
    for (const std::string& call : routes.at(state)) {
      if (call == "end") {
        save_ended();
      } else {
        EXPECT_EQ(make(call), RILL_OK) << call << ": " << rill_last_error();
      }
    }
    if (state == "ended") save();
  }

  /// The session state after loading the state that `save` stored.
  static std::string saved_state() { return "pushed"; }

 private:
  void save_from(Calls* other) {
    size_t size = 0;
    EXPECT_EQ(rill_state_size(other->session_, &size), RILL_OK) << rill_last_error();
    state_.assign(size / 8 + 1, 0);
    EXPECT_EQ(rill_state_save(other->session_, state_.data(), size, &state_size_), RILL_OK);
  }
  void save() {
    Calls other;
    EXPECT_EQ(other.make("rill_push"), RILL_OK) << rill_last_error();
    save_from(&other);
  }
  void save_ended() {
    Calls other;
    EXPECT_EQ(other.make("rill_step"), RILL_OK) << rill_last_error();
    EXPECT_EQ(rill_step_partial(other.session_, 0), RILL_OK) << rill_last_error();
    save_from(&other);
  }
  Calls() : opened_(open(true)) { session_ = opened_.session.get(); }

  rill_status step_timed() {
    std::vector<int64_t> nanoseconds;
    const char* name = nullptr;
    const char* op = nullptr;
    const rill_plan* const plan = opened_.plan.get();
    while (rill_plan_node(plan, nanoseconds.size(), &name, &op) == RILL_OK && name) {
      nanoseconds.push_back(0);
    }
    return rill_step_timed(session_, nanoseconds.data(), nanoseconds.size());
  }
  rill_status step_together() {
    const rill_session_step part = {sizeof(rill_session_step), RILL_STEP_FULL, session_, 0};
    return rill_step_together(&part, 1);
  }
  rill_status go_on_in_a_clone() {
    rill_session* copy = nullptr;
    const rill_status status = rill_session_clone(session_, &copy);
    if (status != RILL_OK) return status;
    opened_.session.reset(copy);
    session_ = copy;
    return status;
  }

  Opened opened_;
  rill_session* session_ = nullptr;
  Array frames_ = Array::noise({1, 1, kPulse}, 1);
  Array outputs_ = Array::noise({1, 1, kPulse}, 2);
  Array buffer_ = Array::noise({1, 1, kPulse}, 3);
  rill_view view_ = frames_.view();
  rill_view out_view_ = outputs_.view();
  rill_view bound_ = buffer_.view();
  rill_view found_ = bound_;
  int64_t moved_ = 0;
  int64_t other_ = 0;
  size_t size_ = 0;
  std::vector<uint64_t> room_ = std::vector<uint64_t>(1024);
  std::vector<uint64_t> state_;
  size_t state_size_ = 0;
};

/// Check the result of a call against the table. Return the session state after it.
std::string expect_call(Calls* calls, const std::map<std::string, Row>& table,
                        const std::string& call, const std::string& state) {
  const std::string& listed = table.at(call).at(state);
  const rill_status found = calls->make(call);
  EXPECT_EQ(found, listed == "-" ? RILL_E_STATE : RILL_OK)
      << call << " when " << state << ": " << rill_last_error();
  if (listed == "-" || listed == "=") return state;
  return listed == "as saved" ? Calls::saved_state() : listed;
}

/// Return the functions of rill.h that take a session, except those that make or free it.
std::set<std::string> functions_of_sessions() {
  std::ifstream in(RILL_SOURCE_DIR "/api/include/rill/rill.h");
  std::stringstream header;
  header << in.rdbuf();
  const std::string text = header.str();
  const std::regex function("\nRILL_API [^;(]*?(rill_[a-z_]+)\\(([^;]*)\\)");
  const std::regex given("rill_session\\* session|rill_session_step\\*");
  std::set<std::string> out;
  for (std::sregex_iterator it(text.begin(), text.end(), function), end; it != end; ++it) {
    const std::string arguments = (*it)[2];
    if (std::regex_search(arguments, given)) out.insert((*it)[1]);
  }
  out.erase("rill_session_free");
  return out;
}

TEST(SessionStates, HaveEveryCallOfTheHeader) {
  std::set<std::string> listed;
  for (const auto& [call, unused] : read_table()) listed.insert(call);
  EXPECT_EQ(listed, functions_of_sessions());
}

TEST(SessionStates, AreThoseOfThePage) {
  const std::map<std::string, Row> table = read_table();
  ASSERT_FALSE(table.empty());
  size_t pairs = 0;
  for (const auto& [state, unused] : table.begin()->second) {
    for (const auto& [first, unused_row] : table) {
      for (const auto& [second, unused_too] : table) {
        Calls calls(state != "whole");
        ASSERT_TRUE(calls.session()) << rill_last_error();
        calls.reach(state);
        SCOPED_TRACE(state + ", " + first + ", " + second);
        const std::string between = expect_call(&calls, table, first, state);
        expect_call(&calls, table, second, between);
        ++pairs;
        if (HasFailure()) return;
      }
    }
  }
  EXPECT_EQ(pairs, 7 * table.size() * table.size());
}

}  // namespace
}  // namespace rill::test
