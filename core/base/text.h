#pragma once

#include <concepts>
#include <cstdarg>
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

/// Appends a value; each instance handles one type.
using AppendPiece = void (*)(std::string& out, const void* value);
template <class T>
void append_value(std::string& out, const void* value) {
  append_piece(out, *static_cast<const T*>(value));
}

/// The type in which a piece is passed: one type for literals of all lengths, a reference for other
/// types.
template <class T>
using PieceArgument = std::conditional_t<std::is_convertible_v<const T&, const char*>, const char*,
                                         const T&>;

/// How a piece is passed as a C argument: a C string, a 64-bit integer, or a pointer to the value.
/// With this, templates that join pieces take one or two instructions per piece.
enum class PieceKind : uint8_t { kNone, kChars, kSigned, kUnsigned, kString, kView, kOther };
constexpr int kPieceKindBits = 3;

template <class T>
constexpr PieceKind piece_kind() {
  if (std::is_same_v<T, const char*> || std::is_same_v<T, bool>) return PieceKind::kChars;
  if (std::is_same_v<T, std::string>) return PieceKind::kString;
  if (std::is_same_v<T, std::string_view>) return PieceKind::kView;
  if (!std::is_integral_v<T> || std::is_same_v<T, char>) return PieceKind::kOther;
  return std::is_signed_v<T> ? PieceKind::kSigned : PieceKind::kUnsigned;
}

/// Return the kinds of all pieces, the first in the lowest bits.
template <class... Types>
constexpr uint64_t piece_kinds() {
  static_assert(sizeof...(Types) * kPieceKindBits < 64);
  uint64_t kinds = 0;
  int shift = -kPieceKindBits;
  ((kinds |= static_cast<uint64_t>(piece_kind<Types>()) << (shift += kPieceKindBits)), ...);
  return kinds;
}

template <AppendPiece... kAppend>
struct AppendList {
  static constexpr AppendPiece kAll[] = {kAppend..., nullptr};
};

/// The functions that append the pieces of kind `kOther`, in order. Equal lists share one array.
template <class Found, class... Types>
struct OtherPieces : Found {};
template <AppendPiece... kAppend, class T, class... Left>
struct OtherPieces<AppendList<kAppend...>, T, Left...>
    : std::conditional_t<piece_kind<T>() == PieceKind::kOther,
                         OtherPieces<AppendList<kAppend..., append_value<T>>, Left...>,
                         OtherPieces<AppendList<kAppend...>, Left...>> {};

template <class... Types>
constexpr const AppendPiece* other_pieces() {
  if constexpr (((piece_kind<Types>() != PieceKind::kOther) && ...)) {
    return nullptr;
  } else {
    return OtherPieces<AppendList<>, Types...>::kAll;
  }
}

/// Return the C argument of a piece.
template <class T>
auto passed_piece(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (piece_kind<T>() == PieceKind::kChars) {
    return value;
  } else if constexpr (piece_kind<T>() == PieceKind::kSigned) {
    return static_cast<int64_t>(value);
  } else if constexpr (piece_kind<T>() == PieceKind::kUnsigned) {
    return static_cast<uint64_t>(value);
  } else {
    return static_cast<const void*>(&value);
  }
}

/// Remove the lowest kind from `kinds`, and append the piece of that kind.
void append_next(std::string& out, uint64_t* kinds, const AppendPiece** others, va_list* pieces);

/// Join pieces, which follow as C arguments.
std::string joined(uint64_t kinds, const AppendPiece* others, ...);

template <class... Arguments>
std::string joined_arguments(Arguments... arguments) {
  return joined(piece_kinds<std::remove_cvref_t<Arguments>...>(),
                other_pieces<std::remove_cvref_t<Arguments>...>(), passed_piece(arguments)...);
}

/// Join pieces of text, numbers, lists and anything with `to_string()`.
template <class... Parts>
std::string str_cat(const Parts&... parts) {
  return joined_arguments<PieceArgument<Parts>...>(parts...);
}

/// Remove spaces, tabs and line ends at both ends.
std::string_view trimmed(std::string_view text);

/// Join texts with a separator.
std::string join(std::span<const std::string> texts, std::string_view separator);

}  // namespace rill
