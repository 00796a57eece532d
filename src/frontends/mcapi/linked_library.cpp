// A program into which its MCAPI library is linked: it tells us where that library's functions are (linked/reprise_mcapi.c.in).
#include <algorithm>
#include <iterator>

#include "frontends/mcapi/call.hpp"
#include "frontends/mcapi/identity.hpp"

using namespace reprise::mcapi;

namespace {

using AnyFunction = void (*)();

const AnyFunction kOwn[] = {
#define REPRISE_MCAPI_OWN(name) reinterpret_cast<AnyFunction>(&mcapi_##name),
    REPRISE_MCAPI_FUNCTIONS(REPRISE_MCAPI_OWN)
#undef REPRISE_MCAPI_OWN
};

}  // namespace

// The last one of `real` is mcapi_origin_get, where the library has it.
extern "C" __attribute__((visibility("default"))) void reprise_mcapi_linked(const AnyFunction* real, AnyFunction* used, std::size_t count) {
  if (reprise::engine::mode() == Mode::Passive || count != std::size(kOwn) + 1) return;
  for (std::size_t i = 0; i < std::size(kOwn); ++i) {
    if (!real[i]) continue;
    use_runtime_function(static_cast<Function>(i), reinterpret_cast<void*>(real[i]));
    used[i] = kOwn[i];
  }
  use_origin_function(reinterpret_cast<void*>(real[count - 1]));
}
