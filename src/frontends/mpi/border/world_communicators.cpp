// Communicators of a rank that runs alone (MPI 4.0, 7.4): questions are answered from what is known of their members,
// and new ones have the members that the provider names.
#include <algorithm>

#include "frontends/mpi/border/requests.hpp"
#include "frontends/mpi/border/world.hpp"

namespace reprise::mpi {

using virtual_world::Attribute;
using virtual_world::Communicator;
using virtual_world::Group;
using virtual_world::Likeness;
using virtual_world::Topology;

virtual_world::World& world() {
  static auto* const all = new virtual_world::World();
  return *all;
}

Communicator* known(MPI_Comm comm) { return world().find(handle_key(comm)); }

int mpi_likeness(Likeness likeness, bool communicators) {
  switch (likeness) {
    case Likeness::Identical: return communicators ? MPI_CONGRUENT : MPI_IDENT;
    case Likeness::Similar: return MPI_SIMILAR;
    default: return MPI_UNEQUAL;
  }
}

namespace {

// Attributes and info are copied by MPI_Comm_dup only; the error handler is inherited always.
int make_carrier(MPI_Comm parent, Carrier carrier, MPI_Comm* out) {
  if (carrier == Carrier::Duplicate)
    return singleton_function<int (*)(MPI_Comm, MPI_Comm*)>(Function::Comm_dup)(parent, out);
  return singleton_function<int (*)(MPI_Comm, int, int, MPI_Comm*)>(Function::Comm_split)(parent, 0, 0, out);
}

}  // namespace

int give_communicator(MPI_Comm parent, Carrier carrier, Topology topology, MPI_Comm* out) {
  // A duplicate first: it calls the program's attribute functions, whose calls come first in the log, too.
  int rc = carrier == Carrier::Duplicate ? make_carrier(parent, carrier, out) : MPI_SUCCESS;
  if (rc != MPI_SUCCESS) return rc;
  auto made = provider().new_communicator();
  if (!made) {
    *out = handles().comm_null;
    return MPI_SUCCESS;
  }
  if (carrier == Carrier::Alike) rc = make_carrier(parent, carrier, out);
  if (rc != MPI_SUCCESS) return rc;
  made->topology = std::move(topology);
  world().add(handle_key(*out), std::move(*made));
  return MPI_SUCCESS;
}

namespace {

Topology topology_of(MPI_Comm comm) {
  const Communicator* const found = known(comm);
  return found ? found->topology : Topology();
}

int no_such_communicator(MPI_Comm) {
  return singleton_function<int (*)(MPI_Comm, int)>(Function::Comm_call_errhandler)(handles().comm_world, MPI_ERR_COMM),
         MPI_ERR_COMM;
}

int Comm_rank(MPI_Comm comm, int* rank) {
  const Communicator* const found = known(comm);
  if (!found) return singleton_function<int (*)(MPI_Comm, int*)>(Function::Comm_rank)(comm, rank);
  *rank = found->rank;
  return MPI_SUCCESS;
}

int Comm_size(MPI_Comm comm, int* size) {
  const Communicator* const found = known(comm);
  if (!found) return singleton_function<int (*)(MPI_Comm, int*)>(Function::Comm_size)(comm, size);
  *size = found->local.size();
  return MPI_SUCCESS;
}

int Comm_remote_size(MPI_Comm comm, int* size) {
  const Communicator* const found = known(comm);
  if (!found || !found->inter()) return no_such_communicator(comm);
  *size = found->remote->size();
  return MPI_SUCCESS;
}

int Comm_test_inter(MPI_Comm comm, int* flag) {
  const Communicator* const found = known(comm);
  if (!found) return singleton_function<int (*)(MPI_Comm, int*)>(Function::Comm_test_inter)(comm, flag);
  *flag = found->inter() ? 1 : 0;
  return MPI_SUCCESS;
}

int Comm_group(MPI_Comm comm, MPI_Group* group) {
  const Communicator* const found = known(comm);
  if (!found) return singleton_function<int (*)(MPI_Comm, MPI_Group*)>(Function::Comm_group)(comm, group);
  return give_group(found->local, group);
}

int Comm_remote_group(MPI_Comm comm, MPI_Group* group) {
  const Communicator* const found = known(comm);
  if (!found || !found->inter()) return no_such_communicator(comm);
  return give_group(*found->remote, group);
}

int Comm_compare(MPI_Comm one, MPI_Comm other, int* result) {
  const Communicator* const first = known(one);
  const Communicator* const second = known(other);
  if (!first || !second)
    return singleton_function<int (*)(MPI_Comm, MPI_Comm, int*)>(Function::Comm_compare)(one, other, result);
  *result = one == other ? MPI_IDENT : mpi_likeness(virtual_world::compare(*first, *second), true);
  return MPI_SUCCESS;
}

// --- new ones -------------------------------------------------------------------------------------------------------

int Comm_dup(MPI_Comm comm, MPI_Comm* made) {
  return give_communicator(comm, Carrier::Duplicate, topology_of(comm), made);
}

int Comm_dup_with_info(MPI_Comm comm, MPI_Info, MPI_Comm* made) { return Comm_dup(comm, made); }

int Comm_idup(MPI_Comm comm, MPI_Comm* made, MPI_Request* request) {
  const int rc = Comm_dup(comm, made);
  if (rc != MPI_SUCCESS) return rc;
  Operation op;
  op.within(comm);
  return op.answer_later(request, false);
}

int Comm_idup_with_info(MPI_Comm comm, MPI_Info, MPI_Comm* made, MPI_Request* request) {
  return Comm_idup(comm, made, request);
}

int Comm_create(MPI_Comm comm, MPI_Group, MPI_Comm* made) { return give_communicator(comm, Carrier::Alike, {}, made); }
int Comm_create_group(MPI_Comm comm, MPI_Group, int, MPI_Comm* made) {
  return give_communicator(comm, Carrier::Alike, {}, made);
}
int Comm_split(MPI_Comm comm, int, int, MPI_Comm* made) { return give_communicator(comm, Carrier::Alike, {}, made); }
int Comm_split_type(MPI_Comm comm, int, int, MPI_Info, MPI_Comm* made) {
  return give_communicator(comm, Carrier::Alike, {}, made);
}
int Intercomm_create(MPI_Comm comm, int, MPI_Comm, int, int, MPI_Comm* made) {
  return give_communicator(comm, Carrier::Alike, {}, made);
}
int Intercomm_merge(MPI_Comm comm, int, MPI_Comm* made) { return give_communicator(comm, Carrier::Alike, {}, made); }

int Comm_free(MPI_Comm* comm) {
  const MPI_Comm freed = *comm;
  const int rc = singleton_function<int (*)(MPI_Comm*)>(Function::Comm_free)(comm);
  if (rc == MPI_SUCCESS) world().remove(handle_key(freed));
  return rc;
}

// --- attributes -----------------------------------------------------------------------------------------------------

std::optional<Attribute> predefined(int keyval) {
  switch (keyval) {
    case MPI_TAG_UB: return Attribute::TagUb;
    case MPI_HOST: return Attribute::Host;
    case MPI_IO: return Attribute::Io;
    case MPI_WTIME_IS_GLOBAL: return Attribute::WtimeIsGlobal;
    case MPI_UNIVERSE_SIZE: return Attribute::UniverseSize;
    case MPI_APPNUM: return Attribute::Appnum;
    default: return std::nullopt;
  }
}

int Comm_get_attr(MPI_Comm comm, int keyval, void* value, int* flag) {
  const auto which = predefined(keyval);
  if (!which)
    return singleton_function<int (*)(MPI_Comm, int, void*, int*)>(Function::Comm_get_attr)(comm, keyval, value, flag);
  static int values[static_cast<std::size_t>(Attribute::kCount)];
  const auto answer = provider().attribute(*which);
  *flag = answer ? 1 : 0;
  int& place = values[static_cast<std::size_t>(*which)];
  if (answer) {
    place = static_cast<int>(*answer);
    *static_cast<int**>(value) = &place;
  }
  return MPI_SUCCESS;
}

}  // namespace

void name_members() {
  Communicator all;
  std::vector<int> everybody(static_cast<std::size_t>(provider().ranks()));
  for (std::size_t i = 0; i < everybody.size(); ++i) everybody[i] = static_cast<int>(i);
  all.local = Group(std::move(everybody));
  all.rank = provider().rank();
  Communicator self;
  self.local = Group({all.rank});
  world().add(handle_key(handles().comm_world), std::move(all));
  world().add(handle_key(handles().comm_self), std::move(self));
}

void put_world_at_border() {
  put_in_world(Function::Comm_rank, &Comm_rank);
  put_in_world(Function::Comm_size, &Comm_size);
  put_in_world(Function::Comm_remote_size, &Comm_remote_size);
  put_in_world(Function::Comm_test_inter, &Comm_test_inter);
  put_in_world(Function::Comm_group, &Comm_group);
  put_in_world(Function::Comm_remote_group, &Comm_remote_group);
  put_in_world(Function::Comm_compare, &Comm_compare);
  put_in_world(Function::Comm_dup, &Comm_dup);
  put_in_world(Function::Comm_dup_with_info, &Comm_dup_with_info);
  put_in_world(Function::Comm_idup, &Comm_idup);
  put_in_world(Function::Comm_idup_with_info, &Comm_idup_with_info);
  put_in_world(Function::Comm_create, &Comm_create);
  put_in_world(Function::Comm_create_group, &Comm_create_group);
  put_in_world(Function::Comm_split, &Comm_split);
  put_in_world(Function::Comm_split_type, &Comm_split_type);
  put_in_world(Function::Intercomm_create, &Intercomm_create);
  put_in_world(Function::Intercomm_merge, &Intercomm_merge);
  put_in_world(Function::Comm_free, &Comm_free);
  put_in_world(Function::Comm_disconnect, &Comm_free);
  put_in_world(Function::Comm_get_attr, &Comm_get_attr);
}

}  // namespace reprise::mpi
