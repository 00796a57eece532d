// What an explored rank reads from clocks and random sources: the same in every run.
//
// Time is virtual there: every read of a clock is a microsecond after the one before. Random bytes follow from the rank
// and from how many were drawn before.
#pragma once

#include <cstdint>
#include <ctime>
#include <span>

#include "frontends/sys/functions.hpp"

namespace reprise::sys {

inline bool g_time_is_virtual = false;
// Before main(), for all ranks; and then for one of them.
void begin_virtual_time();
// What the program prints before it is anybody is printed once per worker: nobody wants that.
void write_nowhere();
void becomes_rank(int rank);

std::int64_t virtual_nanoseconds();
// The same without letting the clock go on: of all clocks, the one that counts from 1970.
std::int64_t virtual_now();
// A pause takes no time: the clocks go on at once.
void advance_virtual_time(std::int64_t nanoseconds);
void advance_virtual_time_to(std::int64_t time);
// When a time comes that the program has computed from one of its clocks. They are decades apart.
std::int64_t virtual_time_of(const timespec& time);
// False: this function is answered as usual. `about`: which clock.
bool answer_virtually(Function function, std::int64_t about, std::span<std::int64_t> numbers);
bool answer_virtually(std::span<std::uint8_t> bytes);

}  // namespace reprise::sys
