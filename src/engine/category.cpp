#include "engine/category.hpp"

#include <cstddef>

namespace reprise::engine {

const char* category_name(Category category) {
  static constexpr const char* kNames[] = {
      "deadlock",
      "livelock",
      "collective mismatch",
      "crash",
      "assertion failure",
      "non-zero exit",
      "abort",
      "MPI error",
      "unmatched send",
      "unmatched receive",
      "no finalize",
      "endless computation",
      "nondeterminism",
      "invalid argument",
      "truncation",
      "type mismatch",
      "collective type mismatch",
      "request leak",
      "persistent request leak",
      "request misuse",
      "communicator leak",
      "group leak",
      "datatype leak",
      "operation leak",
      "window leak",
      "file leak",
      "send buffer changed",
      "receive buffer changed",
      "receive buffer read early",
      "overlapping buffers",
      "buffer too small",
      "call outside MPI",
      "thread level",
      "window conflict",
      "window changed by its owner",
      "outside an epoch",
      "epoch left open",
      "epochs overlap",
      "outside the window",
  };
  static_assert(sizeof kNames / sizeof *kNames == static_cast<std::size_t>(Category::kCount));
  return kNames[static_cast<std::size_t>(category)];
}

}  // namespace reprise::engine
