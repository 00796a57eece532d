#include "frontends/mpi/check/buffers.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/spin.hpp"
#include "virtual/stage.hpp"

namespace reprise::mpi::check {
namespace {

constexpr std::size_t kMostRuns = 1024;           // of one buffer; beyond that only its ends are known
constexpr std::size_t kLargestSpan = 256u << 20;  // larger buffers are not digested

std::atomic_flag g_lock;
std::vector<const Lent*>& all() {
  static auto* const lent = new std::vector<const Lent*>();  // never destroyed: see communicators.hpp
  return *lent;
}

}  // namespace

Lent::Known Lent::know(const Part& part, bool for_long) {
  Known known;
  known.use = part.use;
  const Memory& memory = part.memory;
  if (memory.bytes == 0 || !memory.layout || !memory.layout->known) return known;
  known.begin = UINTPTR_MAX;
  memory.layout->visit(const_cast<void*>(memory.buffer), memory.bytes, [&](std::uint8_t* run, std::size_t size) {
    const auto begin = reinterpret_cast<std::uintptr_t>(run);
    known.begin = std::min(known.begin, begin);
    known.end = std::max(known.end, begin + size);
    if (!known.runs.empty() && known.runs.back().end == begin) known.runs.back().end += size;
    else if (known.runs.size() < kMostRuns) known.runs.push_back({begin, begin + size});
    else known.is_exact = false;
  });
  if (!known.is_exact) known.runs.clear();
  std::sort(known.runs.begin(), known.runs.end(),
            [](const Run& one, const Run& other) { return one.begin < other.begin; });
  if (!for_long) return known;
  if (!digest(known, known.digest)) known.runs.clear();
  known.is_disturbed = known.use == Use::Received && !known.runs.empty() &&
                       (g_disturbed == virtual_world::kDisturbsAll || (g_disturbed != 0 && g_disturbed == here().site));
  if (!known.is_disturbed) return known;
  disturb(known);
  digest(known, known.digest);
  return known;
}

// The program may have given the memory back, so it is read as if it were somebody else's.
bool Lent::digest(const Known& part, std::uint64_t& result) {
  const std::size_t span = part.end - part.begin;
  if (part.runs.empty() || span > kLargestSpan) {
    result = 0;
    return true;
  }
  std::vector<char> copy(span);
  const iovec to{copy.data(), span};
  const iovec from{reinterpret_cast<void*>(part.begin), span};
  const ssize_t size = process_vm_readv(static_cast<pid_t>(syscall(SYS_getpid)), &to, 1, &from, 1, 0);
  // Holes between the runs need not be there, and where this is forbidden it must be done without.
  if (size < 0 && errno != EFAULT) {
    result = 0;
    return true;
  }
  XXH3_state_t* const state = XXH3_createState();
  XXH3_64bits_reset(state);
  bool there = true;
  for (const Run& run : part.runs) {
    there = there && static_cast<ssize_t>(run.end - part.begin) <= size;
    if (there) XXH3_64bits_update(state, copy.data() + (run.begin - part.begin), run.end - run.begin);
  }
  result = XXH3_64bits_digest(state);
  XXH3_freeState(state);
  return there;
}

void Lent::disturb(const Known& part) {
  constexpr std::uint8_t kBits = 0x55;
  for (const Run& run : part.runs)
    for (std::uintptr_t at = run.begin; at < run.end; ++at) *reinterpret_cast<std::uint8_t*>(at) ^= kBits;
}

bool Lent::overlap(const Known& one, const Known& other) {
  if (one.use == Use::Sent && other.use == Use::Sent) return false;
  if (one.end <= other.begin || other.end <= one.begin) return false;
  // Two sorted lists.
  auto a = one.runs.begin();
  auto b = other.runs.begin();
  while (a != one.runs.end() && b != other.runs.end()) {
    if (a->begin < b->end && b->begin < a->end) return true;
    if (a->end <= b->end) ++a;
    else ++b;
  }
  return false;
}

const char* Lent::conflict(const Lent& other) const {
  for (const Known& mine : parts_)
    for (const Known& theirs : other.parts_)
      if (overlap(mine, theirs))
        return mine.use == theirs.use      ? "both receive into the same memory"
               : mine.use == Use::Received ? "receives into memory that is being sent"
                                           : "sends memory that is being received into";
  return nullptr;
}

Lent::Lent(const std::vector<Part>& parts, bool for_long) : posted_(here()) {
  for (const Part& part : parts) parts_.push_back(know(part, for_long));
  std::vector<std::pair<const char*, Where>> conflicts;
  {
    const Spin spin(&g_lock);
    for (const Lent* const other : all())
      if (const char* const words = conflict(*other)) {
        conflicts.emplace_back(words, other->posted_);
        is_shared_ = other->is_shared_ = true;
      }
    all().push_back(this);
  }
  for (const auto& [words, other] : conflicts) report(Category::OverlappingBuffers, posted_, words, other);
}

Lent::~Lent() {
  for (const Known& part : parts_) {
    std::uint64_t now = 0;
    if (part.is_disturbed && digest(part, now)) disturb(part);
  }
  const Spin spin(&g_lock);
  std::erase(all(), this);
}

void Lent::end() {
  {
    const Spin spin(&g_lock);
    std::erase(all(), this);
  }
  // What is disturbed is looked at first: the same memory may have been sent (MPI_IN_PLACE).
  std::stable_sort(parts_.begin(), parts_.end(),
                   [](const Known& one, const Known& other) { return one.is_disturbed > other.is_disturbed; });
  for (Known& part : parts_) {
    std::uint64_t now = 0;
    const bool there = digest(part, now);
    if (part.is_disturbed && there) disturb(part);
    part.is_disturbed = false;
    if (is_shared_ || (there && now == part.digest)) continue;
    const Category category = part.use == Use::Sent ? Category::SendBufferChanged : Category::ReceiveBufferChanged;
    report(category, posted_,
           !there                  ? "the memory was given back before the operation was complete"
           : part.use == Use::Sent ? "written to before the send was complete"
                                   : "written to before the receive was complete",
           here());
    return;
  }
}

}  // namespace reprise::mpi::check
