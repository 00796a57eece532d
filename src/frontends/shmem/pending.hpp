// What gets will have brought when their context is quiet.
#pragma once

#include <vector>

#include "frontends/shmem/values.hpp"

namespace reprise::shmem {

struct Pending {
  const void* context = nullptr;
  Elements elements;
};

// `context`: null for the default one.
std::vector<Elements> take_pending(const void* context);
// Recording: the accesses of the context are complete.
void tell_completion(const void* context);

}  // namespace reprise::shmem
