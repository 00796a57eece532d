#include "frontends/shmem/memory.hpp"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/spin.hpp"
#include "engine/session.hpp"
#include "frontends/mpi/border/mirrors.hpp"

namespace reprise::shmem {

using engine::Session;

namespace {

struct Range {
  std::uintptr_t begin = UINTPTR_MAX;
  std::uintptr_t end = 0;
};

// What the program can write to of its own segments. The first module that the loader names is the program.
Range static_data() {
  Range range;
  dl_iterate_phdr(
      [](dl_phdr_info* module, std::size_t, void* out) {
        auto& found = *static_cast<Range*>(out);
        for (int i = 0; i < module->dlpi_phnum; ++i) {
          const ElfW(Phdr)& segment = module->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_W)) continue;
          const std::uintptr_t begin = module->dlpi_addr + segment.p_vaddr;
          found.begin = std::min(found.begin, begin);
          found.end = std::max(found.end, begin + segment.p_memsz);
        }
        return 1;
      },
      &range);
  return range;
}

}  // namespace

Memory& memory() {
  static auto* const one = new Memory();  // never destroyed: calls come until the process ends
  return *one;
}

void Memory::begin() {
  const bool wanted = Session::get().solo() || (engine::mode() == engine::Mode::Record && !Session::get().configuration().data.empty());
  if (window_ || !wanted) return;
  window_ = mpi::make_symmetric_memory();
  const Range range = static_data();
  const std::uint64_t size = range.begin < range.end ? range.end - range.begin : 0;
  if (size > 0) objects_[range.begin] = {size, 0};
  if (window_->seen) window_->seen->add_region(reinterpret_cast<void*>(range.begin), size, false);
}

void Memory::end() {
  mpi::forget_symmetric_memory();
  window_.reset();
  objects_.clear();
}

std::optional<Memory::Name> Memory::name(const void* address) const {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  auto found = objects_.upper_bound(at);
  if (found == objects_.begin()) return std::nullopt;
  --found;
  if (at - found->first >= found->second.size) return std::nullopt;
  return Name{found->second.number, at - found->first};
}

std::uint64_t Memory::bytes_from(const void* address) const {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  auto found = objects_.upper_bound(at);
  if (found == objects_.begin()) return 0;
  --found;
  return at - found->first < found->second.size ? found->second.size - (at - found->first) : 0;
}

void* Memory::add(void* base, std::uint64_t size) {
  if (!window_ || !base || size == 0) return base;
  const Spin spin(&window_->lock);
  ++made_;
  void* program = base;
  if (window_->seen) {
    const std::uint32_t region = window_->seen->add_region(base, size);
    if (mpi::follows_accesses()) program = follow(region, base, size);
  }
  objects_[reinterpret_cast<std::uintptr_t>(program)] = {size, made_};
  return program;
}

// The copies of an object lie at the same distance from it on all PEs, since programs may well exchange addresses.
void* Memory::follow(std::uint32_t region, void* base, std::uint64_t size) {
  constexpr std::uintptr_t kDistance = std::uintptr_t{1} << 36;
  if (Session::get().solo()) return mpi::follow_memory(*window_, region, base, size, true);
  const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(base) + kDistance;
  if (!cover_pages(address, size)) return mpi::follow_memory(*window_, region, base, size, false);
  std::memset(reinterpret_cast<void*>(address), 0, size);
  return mpi::follow_memory(*window_, region, base, size, false, 0, engine::Mirror::Copy::OfZeros, reinterpret_cast<void*>(address));
}

std::uint64_t Memory::remove(const void* base) {
  if (!window_ || !base) return 0;
  const Spin spin(&window_->lock);
  const auto found = objects_.find(reinterpret_cast<std::uintptr_t>(base));
  if (found == objects_.end()) return 0;
  const std::uint64_t size = found->second.size;
  objects_.erase(found);
  if (window_->seen) window_->seen->remove_region(mpi::real_address(base));
  mpi::forget_memory(*window_, base);
  return size;
}

bool Memory::cover(std::uintptr_t begin, std::uintptr_t end) {
  for (std::uintptr_t at = begin; at < end;) {
    const auto after = mapped_.upper_bound(at);
    if (after != mapped_.begin() && std::prev(after)->second > at) {
      at = std::prev(after)->second;
      continue;
    }
    const std::uintptr_t until = after == mapped_.end() ? end : std::min(end, after->first);
    void* const got = mmap(reinterpret_cast<void*>(at), until - at, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != reinterpret_cast<void*>(at)) {
      if (got != MAP_FAILED) munmap(got, until - at);  // an old kernel takes the address for a wish
      return false;
    }
    mapped_[at] = until;
    at = until;
  }
  return true;
}

namespace {

Range pages_of(std::uintptr_t address, std::uint64_t size) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  return {address & ~(page - 1), (address + size + page - 1) & ~(page - 1)};
}

}  // namespace

bool Memory::cover_pages(std::uintptr_t address, std::uint64_t size) {
  const auto [begin, end] = pages_of(address, size);
  return end > begin && cover(begin, end);
}

void* Memory::place(std::uintptr_t address, std::uint64_t size) {
  const auto [begin, end] = pages_of(address, size);
  if (cover_pages(address, size)) {
    std::memset(reinterpret_cast<void*>(address), 0, size);
    return reinterpret_cast<void*>(address);
  }
  static bool warned = false;
  if (!std::exchange(warned, true))
    Session::get().supervisor().warn("has its symmetric memory elsewhere than in the recorded run, because something else is there now");
  void* const got = mmap(nullptr, end - begin, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) Session::get().supervisor().trouble("there is not enough memory for the symmetric heap");
  return static_cast<char*>(got) + (address - begin);
}

}  // namespace reprise::shmem
