#pragma once

#include <cstdint>

/// The functions of a board that the program needs, by semihosting and the timer of the core.
namespace board {

/// Switch the floating-point unit and the timer on.
void begin();
void print(const char* text);
[[noreturn]] void stop(int status);
/// Return the number of instructions so far. In the emulator, each takes a nanosecond (-icount
/// shift=0).
uint64_t instructions();

}  // namespace board
