// The symmetric memory of this PE: objects of the symmetric heap, and static data of the program.
//
// Objects are allocated by all PEs together and in the same order, so they are known by their numbers, counted from 1; number
// 0 is the program's static data. That is how one PE tells another what it touches there, whatever the addresses, and how a
// replay finds it again. To those who follow what a PE sees, all of it is one window (frontends/mpi/border/windows.hpp).
//
// A solo replay has no heap of the library's. It puts each object where it was: programs may well exchange addresses, since
// these are the same on all PEs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "frontends/mpi/border/windows.hpp"

namespace reprise::shmem {

class Memory {
 public:
  // Collective.
  void begin();
  void end();
  bool is_up() const { return window_ != nullptr; }
  // Where accesses are told; none: nobody's values are recorded.
  mpi::BorderWindow* window() { return window_.get(); }

  struct Name {
    std::uint32_t object = 0;
    std::uint64_t offset = 0;
  };
  std::optional<Name> name(const void* address) const;
  // How many bytes lie from here to the end of the object.
  std::uint64_t bytes_from(const void* address) const;

  // Where the program finds it: with --fidelity access, in a copy.
  void* add(void* base, std::uint64_t size);
  // Its size.
  std::uint64_t remove(const void* base);
  // Solo: `size` bytes of zeros at this address, or elsewhere if that is taken.
  void* place(std::uintptr_t address, std::uint64_t size);

 private:
  struct Object {
    std::uint64_t size = 0;
    std::uint32_t number = 0;
  };
  bool cover(std::uintptr_t begin, std::uintptr_t end);
  bool cover_pages(std::uintptr_t address, std::uint64_t size);
  void* follow(std::uint32_t region, void* base, std::uint64_t size);

  std::shared_ptr<mpi::BorderWindow> window_;
  std::map<std::uintptr_t, Object> objects_;
  std::uint32_t made_ = 0;
  std::map<std::uintptr_t, std::uintptr_t> mapped_;  // for objects of a replay, or copies: from, to
};

Memory& memory();

}  // namespace reprise::shmem
