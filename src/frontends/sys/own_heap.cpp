// Memory for our own code inside the program: apart from the program's heap.
//
// A clock may be read inside malloc (jemalloc does), and in a replay our answer may need memory: it must not come from
// the malloc that waits for the answer. It also leaves the program's heap as it is without us. operator new and delete
// are replaced within this library only; its symbols are hidden.
//
// Blocks of 2^n bytes, freed ones kept in a list per size and used again; large blocks are maps of their own.
#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "base/spin.hpp"

namespace {

// In front of every block; keeps what follows aligned.
struct alignas(16) Header {
  std::size_t size;  // of the whole block, header included
  Header* next;      // in the list of free blocks
};

constexpr unsigned kSmallest = 6;  // 2^6 bytes
constexpr unsigned kLargest = 17;  // beyond it, a map of its own
constexpr std::size_t kRefill = std::size_t{1} << 18;

class Heap {
 public:
  void* allocate(std::size_t wanted) {
    if (wanted > SIZE_MAX / 4) return nullptr;
    const std::size_t size = std::bit_ceil(wanted + sizeof(Header));
    if (size > std::size_t{1} << kLargest) return map_block(wanted + sizeof(Header));
    const unsigned number =
        size <= std::size_t{1} << kSmallest ? kSmallest : static_cast<unsigned>(std::countr_zero(size));
    const reprise::Spin lock(&busy_);
    Header*& free = free_[number - kSmallest];
    Header* block = free ? free : cut(std::size_t{1} << number);
    if (!block) return nullptr;
    if (block == free) free = block->next;
    return block + 1;
  }

  void release(void* memory) {
    if (!memory) return;
    Header* const block = static_cast<Header*>(memory) - 1;
    if (block->size > std::size_t{1} << kLargest) {
      munmap(block, block->size);
      return;
    }
    const reprise::Spin lock(&busy_);
    Header*& free = free_[static_cast<unsigned>(std::countr_zero(block->size)) - kSmallest];
    block->next = free;
    free = block;
  }

 private:
  static void* map_block(std::size_t size) {
    void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : new (memory) Header{size, nullptr} + 1;
  }

  // A new block out of the room that is left; what is too small for it is lost.
  Header* cut(std::size_t size) {
    if (left_ < size) {
      void* const memory = mmap(nullptr, kRefill, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED) return nullptr;
      room_ = static_cast<std::byte*>(memory);
      left_ = kRefill;
    }
    auto* const block = new (room_) Header{size, nullptr};
    room_ += size;
    left_ -= size;
    return block;
  }

  std::atomic_flag busy_;
  Header* free_[kLargest - kSmallest + 1] = {};
  std::byte* room_ = nullptr;
  std::size_t left_ = 0;
};

constinit Heap g_heap;

void* allocate_or_end(std::size_t size) {
  void* const memory = g_heap.allocate(size);
  if (!memory) std::abort();  // nothing here can throw
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return allocate_or_end(size); }
void* operator new[](std::size_t size) { return allocate_or_end(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return g_heap.allocate(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return g_heap.allocate(size); }
void operator delete(void* memory) noexcept { g_heap.release(memory); }
void operator delete[](void* memory) noexcept { g_heap.release(memory); }
void operator delete(void* memory, std::size_t) noexcept { g_heap.release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { g_heap.release(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { g_heap.release(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { g_heap.release(memory); }
