#include "api/src/hints.h"

#include <algorithm>
#include <cctype>

namespace rill::api {
namespace {

/// Parts of hints that name an option which only the program has, and their replacements.
struct Part {
  std::string_view text;
  std::string_view instead;
};

constexpr Part kParts[] = {
    {", or the input's shape with -i", ", or call rill_model_set_shapes"},
    {", or give the input's shape with -i", ", or call rill_model_set_shapes"},
    {"; or accept that each pulse is its own future with --pulse-backward chunk", ""},
    {", or keep a wire as one with --output-node NAME", ""},
    {"Name it with --input-node too, or cut", "Cut"},
    {"`rill MODEL --pulse auto inspect`", "rill_inspect"},
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Take the first characters for which `holds`.
template <class Holds>
std::string_view take_while(std::string_view* from, const Holds& holds) {
  const auto end = std::find_if_not(from->begin(), from->end(), holds);
  const std::string_view out = from->substr(0, static_cast<size_t>(end - from->begin()));
  from->remove_prefix(out.size());
  return out;
}

bool take(std::string_view* from, std::string_view text) {
  if (!from->starts_with(text)) return false;
  from->remove_prefix(text.size());
  return true;
}

/// Take "NAME=VALUE". A full stop or comma after it belongs to the sentence.
bool take_pair(std::string_view* from, std::string* name, std::string* value) {
  *name = take_while(from, is_word);
  if (name->empty() || !take(from, "=")) return false;
  const auto in_value = [](char c) {
    return is_word(c) || std::string_view("*+/()-").find(c) != std::string_view::npos;
  };
  std::string_view rest = *from;
  *value = take_while(&rest, in_value);
  from->remove_prefix(value->size());
  return !value->empty();
}

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

/// Take an option of the program, and return the call; nothing if there is none.
std::string taken_option(std::string_view* from) {
  std::string name;
  std::string value;
  std::string_view rest = *from;
  std::string out;
  if (take(&rest, "--set ") && take_pair(&rest, &name, &value)) {
    out = "rill_model_set_symbol(model, " + quoted(name) + ", " + quoted(value) + ")";
  } else if (rest = *from; take(&rest, "--constantize ") && take_pair(&rest, &name, &value)) {
    out = "rill_load_opts.constants = " + quoted(name + "=" + value);
  } else if (rest = *from; take(&rest, "--assert '")) {
    const auto in_claim = [](char c) { return c != '\''; };
    out = "`extension tract_assert " + std::string(take_while(&rest, in_claim)) +
          ";` in graph.nnef";
    if (!take(&rest, "'")) return {};
  } else if (rest = *from; take(&rest, "--window ") && take_pair(&rest, &name, &value)) {
    out = "rill_model_window(model, " + quoted(name) + ", " + value;
    while (take(&rest, ",")) out += ", " + std::string(take_while(&rest, is_word));
    out += ")";
    for (const std::string_view count : {"LEFT", "STEP", "RIGHT"}) {
      const size_t at = out.find(count);
      for (size_t i = 0; at != std::string::npos && i < count.size(); ++i) {
        out[at + i] = static_cast<char>(std::tolower(count[i]));
      }
    }
  }
  if (!out.empty()) *from = rest;
  return out;
}

}  // namespace

std::string hint_in_calls(std::string_view hint) {
  std::string out;
  while (!hint.empty()) {
    const auto* part = std::find_if(std::begin(kParts), std::end(kParts), [&](const Part& each) {
      return hint.starts_with(each.text);
    });
    if (part != std::end(kParts)) {
      out += part->instead;
      hint.remove_prefix(part->text.size());
      continue;
    }
    const std::string call = hint.starts_with("--") ? taken_option(&hint) : std::string();
    if (!call.empty()) {
      out += call;
      continue;
    }
    out += hint[0];
    hint.remove_prefix(1);
  }
  return out;
}

}  // namespace rill::api
