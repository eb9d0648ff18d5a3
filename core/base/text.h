#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/base/list.h"

namespace rill {

void append_text(std::string& out, std::string_view text);
void append_text(std::string& out, int64_t value);
void append_text(std::string& out, uint64_t value);
/// Append the shortest decimal that reads back as the same double.
void append_text(std::string& out, double value);
/// Append the shortest decimal that reads back as the same float.
void append_text(std::string& out, float value);

inline void append_piece(std::string& out, const char* text) {
  append_text(out, std::string_view(text));
}
inline void append_piece(std::string& out, std::string_view text) { append_text(out, text); }
inline void append_piece(std::string& out, const std::string& text) {
  append_text(out, std::string_view(text));
}
inline void append_piece(std::string& out, char c) { out.push_back(c); }
inline void append_piece(std::string& out, bool value) {
  append_text(out, std::string_view(value ? "true" : "false"));
}
template <std::signed_integral T>
  requires(!std::same_as<T, char> && !std::same_as<T, bool>)
void append_piece(std::string& out, T value) {
  append_text(out, static_cast<int64_t>(value));
}
template <std::unsigned_integral T>
  requires(!std::same_as<T, char> && !std::same_as<T, bool>)
void append_piece(std::string& out, T value) {
  append_text(out, static_cast<uint64_t>(value));
}
inline void append_piece(std::string& out, double value) { append_text(out, value); }
inline void append_piece(std::string& out, float value) { append_text(out, value); }
template <class T>
  requires requires(const T& t) { { t.to_string() } -> std::convertible_to<std::string>; }
void append_piece(std::string& out, const T& value) {
  out += value.to_string();
}
template <class T>
void append_piece(std::string& out, std::span<const T> values) {
  out.push_back('[');
  bool first = true;
  for (const T& value : values) {
    if (!first) out += ", ";
    first = false;
    append_piece(out, value);
  }
  out.push_back(']');
}
template <class T>
void append_piece(std::string& out, const List<T>& values) {
  append_piece(out, std::span<const T>(values.begin(), values.end()));
}
template <class T>
void append_piece(std::string& out, const std::vector<T>& values) {
  append_piece(out, std::span<const T>(values));
}

/// A count with its noun: "1 frame", "3 frames"; `counted(n, "axis", "axes")` for other plurals.
struct Counted {
  int64_t count;
  const char* one;
  const char* many;
};
template <std::integral T>
Counted counted(T count, const char* one, const char* many = nullptr) {
  return {static_cast<int64_t>(count), one, many};
}
void append_piece(std::string& out, const Counted& value);

/// A piece of text that is not made yet: where its value lies, and what appends it. Templates that
/// join pieces pass these on, so that each of them is a few instructions however much text is made.
struct TextPiece {
  void (*append)(std::string& out, const void* value);
  const void* value;
};

/// Append a value; the instance knows its type.
template <class T>
void append_value(std::string& out, const void* value) {
  append_piece(out, *static_cast<const T*>(value));
}
void append_chars(std::string& out, const void* value);

/// The type in which a piece is passed: literals of all lengths as one type, all else unchanged.
template <class T>
using PieceArgument = std::conditional_t<std::is_convertible_v<const T&, const char*>, const char*,
                                         const T&>;

template <class T>
TextPiece text_piece(const T& value) {
  if constexpr (std::is_same_v<T, const char*>) {
    return {append_chars, value};
  } else {
    return {append_value<T>, &value};
  }
}

/// Append pieces to one another.
std::string joined(const TextPiece* pieces, size_t count);

template <class... Arguments>
std::string joined_arguments(Arguments... arguments) {
  const TextPiece pieces[] = {text_piece(arguments)...};
  return joined(pieces, sizeof...(Arguments));
}

/// Join pieces of text, numbers, lists and anything with `to_string()`.
template <class... Parts>
std::string str_cat(const Parts&... parts) {
  return joined_arguments<PieceArgument<Parts>...>(parts...);
}

/// Drop spaces, tabs and ends of lines at both ends.
std::string_view trimmed(std::string_view text);

/// Join texts with a separator.
std::string join(std::span<const std::string> texts, std::string_view separator);

}  // namespace rill
