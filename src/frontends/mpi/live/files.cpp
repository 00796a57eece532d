#include "frontends/mpi/live/files.hpp"

#include <cstring>
#include <string>

#include "frontends/mpi/communicators.hpp"
#include "frontends/mpi/idle_request.hpp"
#include "frontends/mpi/live/collective.hpp"

namespace reprise::mpi::live {
namespace {

struct OpenFile {
  std::uint64_t uid = 0;  // the same for all who have it open
  virtual_world::Group members;
  bool first = false;
  std::string path;
  int amode = 0;
};

std::unordered_map<std::uint64_t, OpenFile>& files() {
  static auto* const all = new std::unordered_map<std::uint64_t, OpenFile>();  // never destroyed: see communicators.hpp
  return *all;
}

const OpenFile* find(MPI_File file) {
  const auto found = files().find(handle_key(file));
  return found == files().end() ? nullptr : &found->second;
}

int error_class(int error) {
  int found = error;
  if (error != MPI_SUCCESS) singleton_function<int (*)(int, int*)>(Function::Error_class)(error, &found);
  return found;
}

int open_for_itself(const char* path, int amode, MPI_Info info, MPI_File* out) {
  using Open = int (*)(MPI_Comm, const char*, int, MPI_Info, MPI_File*);
  return error_class(call_singleton<Open>(Function::File_open, own_communicator(), path, amode, info, out));
}

// One creates it, then the others open it; and nobody writes before all have it: some may begin at its end.
int open(MPI_Comm comm, const char* path, int amode, MPI_Info info, MPI_File* out) {
  const Communicator* const found = known(comm);
  OpenFile file{next_uid(comm), found->local, found->rank == 0, path, amode};
  const std::uint64_t uid = communicators().uid(comm);
  const int own = amode & ~MPI_MODE_DELETE_ON_CLOSE;  // when all have closed it
  int error = file.first ? open_for_itself(path, own, info, out) : MPI_SUCCESS;
  const auto told = exchange(Function::File_open, uid, file.members.members(),
                             {reinterpret_cast<const std::uint8_t*>(&error), sizeof error});
  if (!file.first) {
    std::memcpy(&error, told.front().data(), sizeof error);
    if (error == MPI_SUCCESS) error = open_for_itself(path, own & ~(MPI_MODE_CREATE | MPI_MODE_EXCL), info, out);
  }
  exchange(Function::File_open, uid, file.members.members(), {});
  if (error == MPI_SUCCESS) files()[handle_key(*out)] = std::move(file);
  return error;
}

int close(MPI_File* handle) {
  const auto found = files().find(handle_key(*handle));
  if (found == files().end()) return call_singleton<int (*)(MPI_File*)>(Function::File_close, handle);
  const OpenFile file = std::move(found->second);
  files().erase(found);
  const int error = call_singleton<int (*)(MPI_File*)>(Function::File_close, handle);
  exchange(Function::File_close, file.uid, file.members.members(), {});
  if (!(file.amode & MPI_MODE_DELETE_ON_CLOSE)) return error;
  using Delete = int (*)(const char*, MPI_Info);
  if (file.first) call_singleton<Delete>(Function::File_delete, file.path.c_str(), handles().info_null);
  exchange(Function::File_close, file.uid, file.members.members(), {});
  return error;
}

int get_group(MPI_File file, MPI_Group* group) {
  const OpenFile* const found = find(file);
  if (!found) return call_singleton<int (*)(MPI_File, MPI_Group*)>(Function::File_get_group, file, group);
  return give_group(found->members, group);
}

int get_amode(MPI_File file, int* amode) {
  const OpenFile* const found = find(file);
  if (!found) return call_singleton<int (*)(MPI_File, int*)>(Function::File_get_amode, file, amode);
  *amode = found->amode;
  return MPI_SUCCESS;
}

}  // namespace

void meet(Function function, MPI_File file) {
  if (const OpenFile* const found = find(file)) enter_without_needs(function, found->uid, found->members.members());
}

bool is_first_there(MPI_File file) {
  const OpenFile* const found = find(file);
  return !found || found->first;
}

void ended_alone(Function function, MPI_File file) {
  if (const OpenFile* const found = find(file)) exchange(function, found->uid, found->members.members(), {});
}

void put_files() {
  put_in_place_of_library(Function::File_open, &open);
  put_in_place_of_library(Function::File_close, &close);
  put_in_place_of_library(Function::File_get_group, &get_group);
  put_in_place_of_library(Function::File_get_amode, &get_amode);
}

}  // namespace reprise::mpi::live
