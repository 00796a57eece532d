// What a rank notices that is wrong with the program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/category.hpp"
#include "frontends/mpi/library.hpp"

namespace reprise::mpi::check {

using engine::Category;

// A place in the program, of this rank or of another one.
struct Where {
  int rank = -1;  // in MPI_COMM_WORLD; -1: this one
  std::uint64_t site = 0;
  std::uint64_t function = 0;
};
// The call in flight.
Where here();
// As it stands in notes and in what is logged: the call, and the site.
std::string place_fields(const Where& where);

struct CommunicatorFacts {
  int rank = -1;
  int peers = -1;  // of an intercommunicator, the others; -1: nobody knows
  bool inter = false;
};

// Who wants to know it, and what he knows.
struct Host {
  void (*report)(Category category, const Where& where, const char* words, const Where& other);
  // An error, as MPI raises it; what the call returns, if it returns. Null: what is wrong is reported, and the library
  // is called all the same.
  int (*raise)(MPI_Comm comm, int error, const char* words);
  // Nothing: this is no communicator, or not any more.
  std::optional<CommunicatorFacts> (*facts)(MPI_Comm comm);
  // What goes on from here would only do damage. Null: it is reported, and the program goes on.
  void (*end)(Category category, int error, const char* words);
};
void set_host(const Host& host);
const Host& host();

// `words` says what is wrong there; `other`, if it has a site, is the other half of it.
void report(Category category, const Where& where, const char* words, const Where& other = {});

// The category of what MPI calls an error: by its class.
Category category_of_error(int error_class);

}  // namespace reprise::mpi::check
