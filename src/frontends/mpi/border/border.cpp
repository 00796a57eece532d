#include "frontends/mpi/border/border.hpp"

#include "base/site_text.hpp"
#include "engine/session.hpp"
#include "frontends/access_modules.hpp"
#include "frontends/mpi/border/layout.hpp"
#include "frontends/mpi/border/mirrors.hpp"
#include "frontends/mpi/border/operation.hpp"
#include "frontends/mpi/border/requests.hpp"
#include "frontends/mpi/border/windows.hpp"
#include "frontends/mpi/idle_request.hpp"
#include "virtual/trace_provider.hpp"

namespace reprise::mpi {

using engine::Session;
using virtual_world::Attribute;

namespace {

template <Flavor kFlavor>
int Type_free(MPI_Datatype* type) {
  forget_layout(*type);
  return library_function<int (*)(MPI_Datatype*)>(Function::Type_free, kFlavor)(type);
}

void put_types_at_border() {
  put_at_border(Function::Type_free, Flavor::Mpi, &Type_free<Flavor::Mpi>);
  put_at_border(Function::Type_free, Flavor::Pmpi, &Type_free<Flavor::Pmpi>);
}

std::optional<int> attribute(int keyval) {
  int flag = 0;
  int* value = nullptr;
  library_function<int (*)(MPI_Comm, int, void*, int*)>(Function::Comm_get_attr)(handles().comm_world, keyval, &value,
                                                                                 &flag);
  return flag && value ? std::optional(*value) : std::nullopt;
}

// The first entry of a rank's data.
void describe_world() {
  std::int64_t fields[virtual_world::kWorldFields] = {rank_in(handles().comm_world), blocks_in(handles().comm_world)};
  constexpr int kKeyvals[] = {MPI_TAG_UB, MPI_HOST, MPI_IO, MPI_WTIME_IS_GLOBAL, MPI_UNIVERSE_SIZE, MPI_APPNUM};
  static_assert(std::size(kKeyvals) == static_cast<std::size_t>(Attribute::kCount));
  for (std::size_t i = 0; i < std::size(kKeyvals); ++i) {
    const auto value = attribute(kKeyvals[i]);
    fields[2 + 2 * i] = value.has_value();
    fields[3 + 2 * i] = value.value_or(0);
  }
  Session::get().data().add(engine::DataKind::World, fields, {}, {});
}

}  // namespace

void not_solo(const char* what) {
  static std::atomic<const char*> noted[64];
  for (std::atomic<const char*>& slot : noted) {
    const char* empty = nullptr;
    if (slot.compare_exchange_strong(empty, what)) break;
    if (empty == what) return;
  }
  static LoadedModule room;  // too large for some stacks
  Session::Lock lock(Session::get(), true);
  Session::get().note("not-solo", std::string(what) + '|' + site_text(reinterpret_cast<std::uint64_t>(t_state.caller), room));
}

void record_at_border() {
  describe_world();
  if (Session::get().configuration().access && !frontends::has_hooks())
    not_solo("--fidelity access: the program was not compiled with `reprise cc`");
  put_types_at_border();
  put_completion_at_border(false);
  put_communication_at_border(false);
  put_windows_at_border(false);
  put_probes_at_border(false);
}

void tell_at_border() {
  put_types_at_border();
  put_windows_at_border(false);
}

void leave_border() {
  // The library takes the memory of windows that nobody has freed.
  forget_all_regions();
  g_looks = false;
  border_requests().give_back_kept();
  if (const std::uint64_t bytes = bytes_of_shadows(); bytes > 0) Session::get().note("shadow", std::to_string(bytes));
}

void stand_alone() {
  Session::get().begin_solo();
  trace_provider().begin();
  join_companions();
  put_types_at_border();
  put_completion_at_border(true);
  put_communication_at_border(true);
  put_windows_at_border(true);
  put_probes_at_border(true);
  name_members();
  put_world_at_border();
  put_groups_at_border();
  put_topologies_at_border();
}

}  // namespace reprise::mpi
