#include "board.h"

#include <cstddef>

extern "C" {
extern uint32_t __data_load[], __data_start[], __data_end[], __bss_start[], __bss_end[];
extern uint32_t __stack_top[];
int main();
[[noreturn]] void reset();
void tick();

// The C and C++ libraries reference these functions, but nothing calls them: a call is an error.
[[noreturn]] void abort() { board::stop(3); }
void* _sbrk(int) { board::stop(4); }
}
void operator delete(void*) noexcept { board::stop(4); }
void operator delete(void*, size_t) noexcept { board::stop(4); }

namespace {

volatile uint32_t wraps = 0;
// The timer has 24 bits and counts down at the clock of the core.
constexpr uint32_t kWrap = 1U << 24;

volatile uint32_t& at(uint32_t address) { return *reinterpret_cast<volatile uint32_t*>(address); }

uint32_t semihost(uint32_t what, const void* argument) {
  register uint32_t r0 asm("r0") = what;
  register const void* r1 asm("r1") = argument;
  asm volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

void trap() { board::stop(2); }

struct Vectors {
  uint32_t* stack;
  void (*handlers[15])();
};

}  // namespace

extern "C" [[gnu::section(".vectors"), gnu::used]] const Vectors vectors = {
    __stack_top,
    {reset, trap, trap, trap, trap, trap, nullptr, nullptr, nullptr, nullptr, trap, trap, nullptr,
     trap, tick}};

extern "C" void reset() {
  const uint32_t* from = __data_load;
  for (uint32_t* to = __data_start; to < __data_end;) *to++ = *from++;
  for (uint32_t* to = __bss_start; to < __bss_end;) *to++ = 0;
  at(0xE000ED88) |= 0xFU << 20;  // CPACR: full access to the floating-point unit
  asm volatile("dsb\n isb");
  main();
  board::stop(0);
}

extern "C" void tick() { wraps = wraps + 1; }

namespace board {

void begin() {
  at(0xE000E014) = kWrap - 1;  // SysTick: reload value, current value, enable with interrupt
  at(0xE000E018) = 0;
  at(0xE000E010) = 7;
  while (at(0xE000E018) == 0) {
  }
}

void print(const char* text) { semihost(4, text); }

void stop(int status) {
  // ADP_Stopped_ApplicationExit, or a run-time error.
  const uint32_t why[2] = {0x20026, static_cast<uint32_t>(status)};
  semihost(0x20, why);
  for (;;) {
  }
}

uint64_t instructions() {
  uint32_t before = 0;
  uint32_t now = 0;
  do {
    before = wraps;
    now = at(0xE000E018);
  } while (before != wraps);
  const uint64_t ticks = uint64_t{before} * kWrap + (kWrap - 1 - now);
  // An instruction takes a nanosecond.
  return ticks * RILL_TICK_PICOSECONDS / 1000;
}

}  // namespace board
