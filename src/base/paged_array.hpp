// An array that grows without moving its elements and without malloc: pages of elements, mapped when first needed.
// For tables inside a guest's process, where elements are pointed to and the program's heap must stay undisturbed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <sys/mman.h>

namespace reprise {

template <class T, std::size_t kPerPage = 1024, std::size_t kPages = 1024>
class PagedArray {
 public:
  std::uint32_t size() const { return size_; }
  T& operator[](std::uint32_t index) { return pages_[index / kPerPage][index % kPerPage]; }
  const T& operator[](std::uint32_t index) const { return pages_[index / kPerPage][index % kPerPage]; }

  // A new element, or nullptr when the table is full or memory is short.
  T* add() {
    if (size_ == kPerPage * kPages) return nullptr;
    T*& page = pages_[size_ / kPerPage];
    if (!page) {
      void* memory = mmap(nullptr, kPerPage * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED) return nullptr;
      page = static_cast<T*>(memory);
    }
    return new (&page[size_++ % kPerPage]) T();
  }

  // Gives the memory back. Elements are not destroyed: they own nothing.
  void clear() {
    for (T*& page : pages_) {
      if (page) munmap(page, kPerPage * sizeof(T));
      page = nullptr;
    }
    size_ = 0;
  }

 private:
  T* pages_[kPages] = {};
  std::uint32_t size_ = 0;
};

}  // namespace reprise
