#pragma once

#include <cstdint>

/// The few things that the program needs of a board, by semihosting and the timer of the core.
namespace board {

/// Switch the floating-point unit and the timer on.
void begin();
void print(const char* text);
[[noreturn]] void stop(int status);
/// Instructions so far: the emulator counts time by them (-icount shift=0).
uint64_t instructions();

}  // namespace board
