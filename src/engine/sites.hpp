// The call sites of this process: (function, return address) -> a number, counted in order of first use.
//
// The number and what it stands for (function, module, offset in the module) are what the trace keeps; the address is
// only this run's way to recognise the site quickly.
#pragma once

#include <cstdint>

#include "base/loaded_modules.hpp"
#include "base/paged_array.hpp"
#include "engine/call_model.hpp"
#include "engine/mode.hpp"

namespace reprise::engine {

// The one function that belongs to no front end's table: the program names a moment (include/reprise/reprise.h).
inline constexpr FunctionId kEventFunction = 4095;
inline constexpr const char* kEventName = "reprise_event";

// The functions a front end can log. Ids are this build's; the trace keeps names.
struct FunctionTable {
  const char* const* names = nullptr;
  const std::uint8_t* flags = nullptr;  // those below
  std::uint16_t count = 0;
  std::uint16_t first_read = UINT16_MAX;  // ids from here on read clocks, random sources and the like (frontends/sys)
  std::uint16_t first_sync = UINT16_MAX;  // and from here on synchronise threads (frontends/threads)

  const char* name(FunctionId function) const { return function == kEventFunction ? kEventName : names[function]; }
  std::uint8_t flags_of(FunctionId function) const { return function == kEventFunction ? 0 : flags[function]; }
};
inline constexpr std::uint8_t kBlocking = 1;  // a wildcard outcome is known when the call returns
// Not in traces: among several threads' calls it has no order; what it makes is numbered.
inline constexpr std::uint8_t kUnordered = 4;
inline constexpr std::uint8_t kMakesCommunicator = 8;
inline constexpr std::uint8_t kPosts = 2;     // never waits, or says when it has posted (Session::posted); not in traces

// An open run of failed tests at one call site (MPL*, section 3: a series costs one number). Keyed by the call site
// rather than by request: given equal outcomes a deterministic program polls its requests in the same sequence, so the
// site's sequence of failures and successes determines every call's result, and no request needs an identity.
struct PollSeries {
  bool open = false;
  std::uint8_t* slot = nullptr;  // recording: where the count lies
  std::uint64_t chunk = 0;       // recording: the chunk that holds the slot
  std::uint64_t failures = 0;    // replaying: failures still to come
  bool success = false;          // replaying: what follows them
};

struct Site {
  const void* address = nullptr;  // in this process; unknown (null) in a replay until the module is found
  FunctionId function = 0;
  std::uint32_t module = 0;
  std::uint64_t offset = 0;
  SiteHistory history;
  PollSeries poll;
};

// Finds sites by address. Open addressing; grows by mapping a table twice the size.
class SiteIndex {
 public:
  std::uint32_t find(FunctionId function, const void* address) const;
  bool insert(FunctionId function, const void* address, std::uint32_t site);
  void clear();  // gives the memory back

 private:
  struct Slot {
    const void* address;
    std::uint32_t site;
    FunctionId function;
  };
  static std::uint64_t hash(FunctionId function, const void* address) {
    return (reinterpret_cast<std::uintptr_t>(address) ^ static_cast<std::uint64_t>(function) << 48) *
           0x9e3779b97f4a7c15ull;
  }
  bool grow();
  void place(const Slot& slot);

  Slot* slots_ = nullptr;
  std::uint64_t mask_ = 0;
  unsigned shift_ = 64;
  std::uint64_t used_ = 0;
};

}  // namespace reprise::engine
