#include "frontends/mpi/border/files.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <unordered_map>

#include "base/spin.hpp"
#include "frontends/mpi/border/world.hpp"

namespace reprise::mpi {
namespace {

struct OpenFile {
  virtual_world::Group group;
  int amode = 0;
};

struct Files {
  std::atomic_flag lock;
  std::unordered_map<std::uint64_t, OpenFile> open;
  std::unordered_map<std::uint64_t, Operation> split;
};
Files& files() {
  static auto* const all = new Files();  // never destroyed: see communicators.hpp
  return *all;
}

}  // namespace

void begin_split(MPI_File file, Operation operation) {
  const Spin spin(&files().lock);
  files().split[handle_key(file)] = std::move(operation);
}

Operation end_split(MPI_File file) {
  const Spin spin(&files().lock);
  const auto found = files().split.find(handle_key(file));
  if (found == files().split.end()) return {};
  Operation operation = std::move(found->second);
  files().split.erase(found);
  return operation;
}

int carry_file(MPI_Comm comm, int amode, MPI_File* file) {
  static std::atomic<unsigned> count{0};
  const char* const directory = std::getenv("TMPDIR");
  char path[4096];
  std::snprintf(path, sizeof path, "%s/reprise-%ld-%u", directory ? directory : "/tmp", static_cast<long>(getpid()),
                count.fetch_add(1));
  using Open = int (*)(MPI_Comm, const char*, int, MPI_Info, MPI_File*);
  const int rc = library_function<Open>(Function::File_open)(
      handles().comm_self, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, handles().info_null, file);
  if (rc != MPI_SUCCESS) return rc;
  const virtual_world::Communicator* const members = known(comm);
  const Spin spin(&files().lock);
  files().open[handle_key(*file)] = {members ? members->local : virtual_world::Group(), amode};
  return MPI_SUCCESS;
}

int close_file(MPI_File* file) {
  {
    const Spin spin(&files().lock);
    files().open.erase(handle_key(*file));
  }
  return library_function<int (*)(MPI_File*)>(Function::File_close)(file);
}

int group_of_file(MPI_File file, MPI_Group* group) {
  virtual_world::Group members;
  {
    const Spin spin(&files().lock);
    members = files().open[handle_key(file)].group;
  }
  return give_group(std::move(members), group);
}

int amode_of_file(MPI_File file, int* amode) {
  const Spin spin(&files().lock);
  *amode = files().open[handle_key(file)].amode;
  return MPI_SUCCESS;
}

int raise_again(MPI_File file, int error) {
  if (error != MPI_SUCCESS) library_function<int (*)(MPI_File, int)>(Function::File_call_errhandler)(file, error);
  return error;
}

}  // namespace reprise::mpi
