#include "explore/stage_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace reprise::explore {

Result<StageMemory> StageMemory::make(int ranks) {
  UniqueFd fd(::memfd_create("reprise-stage", MFD_CLOEXEC));
  const std::size_t size = virtual_world::stage_size(ranks);
  if (!fd || ::ftruncate(fd.get(), static_cast<off_t>(size)) != 0)
    return Error{"cannot make memory for the ranks: " + error_text(errno)};
  void* const mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd.get(), 0);
  if (mapped == MAP_FAILED) return Error{"cannot map memory for the ranks: " + error_text(errno)};
  auto* const stage = static_cast<virtual_world::Stage*>(mapped);
  stage->magic = virtual_world::kStageMagic;
  stage->ranks = static_cast<std::uint32_t>(ranks);
  return StageMemory(std::move(fd), stage, size);
}

StageMemory::StageMemory(StageMemory&& other) noexcept
    : fd_(std::move(other.fd_)), stage_(std::exchange(other.stage_, nullptr)), size_(other.size_) {}

StageMemory::~StageMemory() {
  if (stage_) ::munmap(stage_, size_);
}

std::string StageMemory::path() const {
  return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd_.get());
}

}  // namespace reprise::explore
