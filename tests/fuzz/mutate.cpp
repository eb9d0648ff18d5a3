#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "ops/op_table.h"
#include "tests/fuzz/target.h"
#include "tests/property/generate.h"

namespace rill::test {
namespace {

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

/// Split a text into words, numbers, strings, blanks, and single characters.
std::vector<std::string> tokens_of(std::string_view text) {
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    const char c = text[at];
    if (in_word(c)) {
      while (end < text.size() && in_word(text[end])) ++end;
    } else if (c == '\'' || c == '"') {
      while (end < text.size() && text[end] != c && text[end] != '\n') ++end;
      end = std::min(end + 1, text.size());
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      while (end < text.size() && std::isspace(static_cast<unsigned char>(text[end]))) ++end;
    }
    out.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return out;
}

bool is_number(const std::string& token) {
  return std::isdigit(static_cast<unsigned char>(token[0]));
}
bool is_name(const std::string& token) {
  return std::isalpha(static_cast<unsigned char>(token[0])) || token[0] == '_';
}

std::string some_operator(Random* random) {
  const auto modules = ops::op_table();
  const auto last = static_cast<int64_t>(modules.size()) - 1;
  for (;;) {
    const OpModule* module = modules[static_cast<size_t>(random->in(0, last))];
    if (module->nnef.empty()) continue;
    const auto pick = random->in(0, static_cast<int64_t>(module->nnef.size()) - 1);
    const std::string declaration = module->nnef[static_cast<size_t>(pick)].declaration;
    const size_t begin = declaration.find(' ') + 1;
    return declaration.substr(begin, declaration.find_first_of("<(", begin) - begin);
  }
}

std::string some_number(Random* random) {
  static const char* const kEdges[] = {
      "-1", "0",       "1", "2",     "3",   "4",  "5",   "7",
      "8",  "1000003", "S", "2*S+1", "S-3", "-S", "0.5", "4611686018427387904"};
  return kEdges[random->in(0, static_cast<int64_t>(std::size(kEdges)) - 1)];
}

template <class Accept>
size_t some_token(const std::vector<std::string>& tokens, Random* random, const Accept& accept) {
  std::vector<size_t> places;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (accept(i)) places.push_back(i);
  }
  if (places.empty()) return tokens.size();
  return places[static_cast<size_t>(random->in(0, static_cast<int64_t>(places.size()) - 1))];
}

/// Return the token range of a random statement: from after a ';' or '{' up to the next ';'.
std::pair<size_t, size_t> some_statement(const std::vector<std::string>& tokens, Random* random) {
  const size_t end = some_token(tokens, random, [&](size_t i) { return tokens[i] == ";"; });
  if (end == tokens.size()) return {0, 0};
  size_t begin = end;
  while (begin > 0 && tokens[begin - 1] != ";" && tokens[begin - 1] != "{") --begin;
  return {begin, end + 1};
}

void change(std::vector<std::string>* tokens, Random* random) {
  const auto name_at = [&] {
    return some_token(*tokens, random, [&](size_t i) { return is_name((*tokens)[i]); });
  };
  const int64_t choice = random->in(0, 99);
  if (choice < 40) {
    const size_t at =
        some_token(*tokens, random, [&](size_t i) { return is_number((*tokens)[i]); });
    if (at < tokens->size()) (*tokens)[at] = some_number(random);
  } else if (choice < 60) {
    const size_t at = name_at();
    const size_t from = name_at();
    if (at < tokens->size()) (*tokens)[at] = (*tokens)[from];
  } else if (choice < 75) {
    const size_t at = some_token(*tokens, random, [&](size_t i) {
      return is_name((*tokens)[i]) && i + 1 < tokens->size() && (*tokens)[i + 1] == "(";
    });
    if (at < tokens->size()) (*tokens)[at] = some_operator(random);
  } else if (choice < 90) {
    const auto [begin, end] = some_statement(*tokens, random);
    const auto at = static_cast<std::ptrdiff_t>(some_statement(*tokens, random).first);
    const std::vector<std::string> part(tokens->begin() + static_cast<std::ptrdiff_t>(begin),
                                        tokens->begin() + static_cast<std::ptrdiff_t>(end));
    if (choice < 84) {
      tokens->insert(tokens->begin() + at, part.begin(), part.end());
    } else {
      tokens->erase(tokens->begin() + static_cast<std::ptrdiff_t>(begin),
                    tokens->begin() + static_cast<std::ptrdiff_t>(end));
    }
  } else if (!tokens->empty()) {
    tokens->erase(tokens->begin() + random->in(0, static_cast<int64_t>(tokens->size()) - 1));
  }
}

}  // namespace

std::vector<Variable> variables_of(std::string_view text) {
  std::vector<std::string> tokens = tokens_of(text);
  std::erase_if(tokens, [](const std::string& token) {
    return std::isspace(static_cast<unsigned char>(token[0]));
  });
  std::vector<Variable> out;
  for (size_t i = 0; i + 3 < tokens.size(); ++i) {
    if (tokens[i] == "label" && tokens[i + 1] == "=" && tokens[i + 2].size() > 2) {
      out.push_back({tokens[i + 2].substr(1, tokens[i + 2].size() - 2), {}});
    }
    if (out.empty() || tokens[i] != "shape" || tokens[i + 1] != "=" || tokens[i + 2] != "[")
      continue;
    if (!out.back().shape.empty()) continue;
    for (size_t k = i + 3; k < tokens.size() && tokens[k] != "]"; ++k) {
      if (is_number(tokens[k]) && tokens[k].size() < 6) {
        out.back().shape.push_back(std::atoll(tokens[k].c_str()));
      }
    }
  }
  return out;
}

std::string mutated(std::string_view text, uint64_t seed) {
  Random random(seed);
  std::vector<std::string> tokens = tokens_of(text);
  for (int64_t i = random.in(1, 4); i > 0; --i) change(&tokens, &random);
  std::string out;
  for (const std::string& token : tokens) out += token;
  return out;
}

}  // namespace rill::test

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  const std::string text = rill::test::mutated(rill::test::text_of(data, size), seed);
  const size_t kept = std::min(text.size(), max_size);
  std::memcpy(data, text.data(), kept);
  return kept;
}
