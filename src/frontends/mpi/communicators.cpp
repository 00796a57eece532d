#include "frontends/mpi/communicators.hpp"

#include <algorithm>
#include <numeric>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "engine/session.hpp"
#include "frontends/mpi/entry.hpp"

namespace reprise::mpi {
namespace {

template <class Real, class... Args>
int ask(Function function, Args... args) {
  return resolve_function<Real>(function)(args...);
}

int comm_size(MPI_Comm comm) {
  int size = 0;
  return ask<int (*)(MPI_Comm, int*)>(Function::Comm_size, comm, &size) == MPI_SUCCESS ? size : 0;
}

int comm_rank(MPI_Comm comm) {
  int rank = 0;
  return ask<int (*)(MPI_Comm, int*)>(Function::Comm_rank, comm, &rank) == MPI_SUCCESS ? rank : 0;
}

bool is_intercommunicator(MPI_Comm comm) {
  int flag = 0;
  return ask<int (*)(MPI_Comm, int*)>(Function::Comm_test_inter, comm, &flag) == MPI_SUCCESS && flag;
}

void free_group(MPI_Group& group) { ask<int (*)(MPI_Group*)>(Function::Group_free, &group); }

// Appends the world ranks of the local or remote group.
void append_members(MPI_Comm comm, Function group_of, std::vector<int>& out) {
  using GroupOf = int (*)(MPI_Comm, MPI_Group*);
  MPI_Group group = handles().group_null;
  MPI_Group world = handles().group_null;
  if (ask<GroupOf>(group_of, comm, &group) != MPI_SUCCESS) return;
  if (ask<GroupOf>(Function::Comm_group, handles().comm_world, &world) == MPI_SUCCESS) {
    int size = 0;
    ask<int (*)(MPI_Group, int*)>(Function::Group_size, group, &size);
    std::vector<int> ranks(static_cast<std::size_t>(size));
    std::iota(ranks.begin(), ranks.end(), 0);
    const std::size_t before = out.size();
    out.resize(before + ranks.size());
    ask<int (*)(MPI_Group, int, const int*, MPI_Group, int*)>(Function::Group_translate_ranks, group, size,
                                                              ranks.data(), world, out.data() + before);
    free_group(world);
  }
  free_group(group);
}

std::uint64_t digest(const void* data, std::size_t size, std::uint64_t seed) {
  return XXH3_64bits_withSeed(data, size, seed);
}

}  // namespace

Communicators& make_communicators() {
  static Communicators* const all = new Communicators();
  g_communicators = all;
  return *all;
}

void Communicators::begin() {
  if (!all_.empty()) return;
  Communicator world;
  world.key = handle_key(handles().comm_world);
  world.handle = handles().comm_world;
  world.local_size = static_cast<std::size_t>(comm_size(handles().comm_world));
  world.members.resize(world.local_size);
  std::iota(world.members.begin(), world.members.end(), 0);
  const int me = comm_rank(handles().comm_world);
  world.uid = 1;
  Communicator self;
  self.key = handle_key(handles().comm_self);
  self.handle = handles().comm_self;
  self.local_size = 1;
  self.members = {me};
  self.uid = 2 + static_cast<std::uint64_t>(me);
  add(std::move(world), engine::kNoComm, "MPI_COMM_WORLD", 0, me);
  add(std::move(self), engine::kNoComm, "MPI_COMM_SELF", 0, 0);
}

std::int64_t Communicators::number(MPI_Comm comm) {
  engine::Session::Lock lock(engine::Session::get());
  const auto found = alive_.find(handle_key(comm));
  return found == alive_.end() ? engine::kNoComm : found->second;
}

std::uint64_t Communicators::uid(MPI_Comm comm) {
  engine::Session::Lock lock(engine::Session::get());
  const auto found = alive_.find(handle_key(comm));
  return found == alive_.end() ? 0 : all_[static_cast<std::size_t>(found->second)].uid;
}

std::optional<MPI_Comm> Communicators::handle(std::int64_t number) const {
  if (number < 0 || static_cast<std::size_t>(number) >= all_.size()) return std::nullopt;
  const Communicator& found = all_[static_cast<std::size_t>(number)];
  const auto alive = alive_.find(found.key);
  return alive != alive_.end() && alive->second == number ? std::optional(found.handle) : std::nullopt;
}

void Communicators::made(MPI_Comm comm, MPI_Comm parent_handle, const char* how, bool same_members) {
  if (all_.empty()) return;
  if (comm == handles().comm_null) {
    check_against_log(nullptr);
    return;
  }
  const std::int64_t parent = number(parent_handle);
  Communicator made;
  made.key = handle_key(comm);
  made.handle = comm;
  int my_rank = 0;
  if (same_members && parent >= 0) {
    my_rank = comm_rank(parent_handle);
  } else {
    append_members(comm, Function::Comm_group, made.members);
    made.local_size = made.members.size();
    if (is_intercommunicator(comm)) append_members(comm, Function::Comm_remote_group, made.members);
    my_rank = comm_rank(comm);
  }
  engine::Session::get().await_numbering();
  engine::Session::Lock lock(engine::Session::get());
  if (same_members && parent >= 0) {
    made.members = all_[static_cast<std::size_t>(parent)].members;
    made.local_size = all_[static_cast<std::size_t>(parent)].local_size;
  }
  // Both sides of an intercommunicator must agree: members in world order, and no parent (the sides have different
  // ones).
  const bool inter = made.local_size != made.members.size();
  std::vector<int> named = made.members;
  if (inter && made.local_size > 0 && named.front() > named[made.local_size])
    std::rotate(named.begin(), named.begin() + static_cast<std::ptrdiff_t>(made.local_size), named.end());
  const std::uint64_t parent_uid = inter || parent < 0 ? 0 : all_[static_cast<std::size_t>(parent)].uid;
  std::uint64_t name = digest(how, __builtin_strlen(how), parent_uid);
  name = digest(named.data(), named.size() * sizeof(int), name);
  const std::uint64_t counter = all_[inter || parent < 0 ? 0 : static_cast<std::size_t>(parent)].made_before[name]++;
  made.uid = digest(&counter, sizeof counter, name);
  add(std::move(made), parent, how, counter, my_rank);
  engine::Session::get().numbered();
}

// Messages on a communicator with other members would reach nobody, and nobody would know why.
void Communicators::check_against_log(const std::uint64_t* uid) const {
  engine::Session& session = engine::Session::get();
  if (engine::mode() == engine::Mode::Replay && session.replaying_now())
    session.insist(session.replayer().communicator(uid));
}

// The caller holds the lock, or is the only thread.
void Communicators::add(Communicator comm, std::int64_t parent, const char* how, std::uint64_t counter, int my_rank) {
  if (engine::mode() == engine::Mode::Record)
    engine::Session::get().recorder().define_communicator({parent, comm.uid, how, counter,
                                                           static_cast<std::uint32_t>(my_rank), comm.members,
                                                           comm.members.size() - comm.local_size, all_.size()});
  check_against_log(&comm.uid);
  alive_[comm.key] = static_cast<std::int64_t>(all_.size());
  all_.push_back(std::move(comm));
  forget_handles();
}

void Communicators::freed(MPI_Comm comm) {
  const std::int64_t index = number(comm);
  if (index < 2) return;
  engine::Session::Lock lock(engine::Session::get());
  alive_.erase(handle_key(comm));
  all_[static_cast<std::size_t>(index)].members = {};
  forget_handles();
}

std::vector<int> Communicators::local_members(std::int64_t index) const {
  if (index < 0 || static_cast<std::size_t>(index) >= all_.size()) return {};
  const Communicator& comm = all_[static_cast<std::size_t>(index)];
  return {comm.members.begin(), comm.members.begin() + static_cast<std::ptrdiff_t>(comm.local_size)};
}

int Communicators::world_rank(std::int64_t index, int rank) const {
  if (index < 0 || static_cast<std::size_t>(index) >= all_.size()) return -1;
  const Communicator& comm = all_[static_cast<std::size_t>(index)];
  const std::size_t offset = comm.local_size == comm.members.size() ? 0 : comm.local_size;
  const std::size_t at = offset + static_cast<std::size_t>(rank);
  return rank >= 0 && at < comm.members.size() ? comm.members[at] : -1;
}

}  // namespace reprise::mpi
