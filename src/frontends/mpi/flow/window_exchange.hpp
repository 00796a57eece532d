// What an origin tells a target about its accesses, and what the target makes of it.
#pragma once

#include <cstring>
#include <span>

#include "frontends/mpi/flow/windows.hpp"

namespace reprise::mpi::flow {

// An access on its way. Behind it: the runs of the type (FlatType::Run), then the content.
struct ToldAccess {
  std::uint64_t number = 0;
  std::uint32_t kind = 0;
  std::uint32_t operation = 0;
  std::int64_t offset = 0;  // in bytes from the start of the window
  std::uint64_t count = 0;
  std::int64_t extent = 0;
  std::uint64_t size = 0;
  std::uint32_t runs = 0;
  std::uint32_t element = 0;  // bytes of one of what is combined
  std::uint64_t content = 0;
  char name[40] = "";  // of its type
};

// One that has come.
struct HeardAccess {
  int origin = 0;  // world rank
  ToldAccess told;
  Type type;  // of what is touched
  std::vector<std::uint8_t> content;
};

std::vector<HeardAccess> read_accesses(int origin, std::span<const std::uint8_t> bytes);

// Compares them with the window as it is, and was before. Remarks are written.
void look_at_window(std::uint8_t* base, std::uint64_t size, std::span<const std::uint8_t> before,
                    std::vector<HeardAccess>& heard);

// The name of the predefined type that all of it is made of, and its size; empty if there is none.
std::string element_of(const Type& type, std::uint32_t& size);

}  // namespace reprise::mpi::flow
