// What is done to the windows of others: put, get, and the accumulates (MPI 4.0, 12.3).
#include <cstring>
#include <string>

#include "frontends/mpi/live/windows.hpp"

namespace reprise::mpi::live {

using virtual_world::as_word;

void Access::finish() {
  if (is_over) return;
  is_over = true;
  if (lent) lent->end();
  lent.reset();
  auto* const block = reinterpret_cast<AccessBlock*>(actor().bytes(data));
  if (block->wanted > 0) unpack(block->result(), block->wanted, into);
  actor().give_back(data);
}

namespace {

using Kind = AccessBlock::Kind;
using Runs = std::vector<AccessBlock::Run>;

// The predefined type that a type is made of. Of accumulates it is the same throughout (MPI 4.0, 12.3.4).
MPI_Datatype element_of(MPI_Datatype type) {
  for (;;) {
    int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;
    singleton_function<int (*)(MPI_Datatype, int*, int*, int*, int*)>(Function::Type_get_envelope)(
        type, &integers, &addresses, &types, &combiner);
    if (combiner == MPI_COMBINER_NAMED || types == 0) return type;
    std::vector<int> numbers(static_cast<std::size_t>(integers) + 1);
    std::vector<MPI_Aint> places(static_cast<std::size_t>(addresses) + 1);
    std::vector<MPI_Datatype> parts(static_cast<std::size_t>(types));
    using Contents = int (*)(MPI_Datatype, int, int, int, int*, MPI_Aint*, MPI_Datatype*);
    singleton_function<Contents>(Function::Type_get_contents)(type, integers, addresses, types, numbers.data(),
                                                              places.data(), parts.data());
    type = parts.front();  // what was made for us stays; there are few
  }
}

std::size_t size_of(MPI_Datatype type) { return layout_of(type)->size; }

// One access of the program.
struct Asked {
  Kind kind = Kind::Put;
  Region from;     // what the origin gives
  Region compare;  // and what must be there
  Region into;     // what it gets
  int target = 0;
  MPI_Aint displacement = 0;
  MPI_Count count = 0;
  MPI_Datatype type{};
  MPI_Op op{};
};

// Where it goes: bytes from the beginning of the window. Beyond its end the run is over.
Runs runs_of(const Window& window, const Asked& asked) {
  const auto member = static_cast<std::size_t>(asked.target);
  const std::uint64_t first =
      static_cast<std::uint64_t>(asked.displacement) *
      (window.is_dynamic() ? 1 : static_cast<std::uint64_t>(window.units[member]));
  Runs runs;
  const auto layout = layout_of(asked.type);
  layout->visit(reinterpret_cast<void*>(first), static_cast<std::uint64_t>(asked.count) * layout->size,
                [&](std::uint8_t* run, std::size_t size) {
                  const auto begin = reinterpret_cast<std::uint64_t>(run);
                  if (!runs.empty() && runs.back().begin + runs.back().size == begin) runs.back().size += size;
                  else runs.push_back({begin, size});
                });
  if (window.is_dynamic()) return runs;
  const auto end = static_cast<std::uint64_t>(window.sizes[member]);
  for (const AccessBlock::Run& run : runs) {
    if (run.begin <= end && run.size <= end - run.begin) continue;
    const std::string words = "bytes " + std::to_string(run.begin) + " to " + std::to_string(run.begin + run.size) +
                              " of a window of " + std::to_string(end);
    end_run(check::Category::OutsideWindow, MPI_ERR_RMA_RANGE, words.c_str());
  }
  return runs;
}

std::shared_ptr<Access> access(const Asked& asked, Window& window) {
  const Runs runs = runs_of(window, asked);
  const bool is_accumulate = asked.kind == Kind::Accumulate || asked.kind == Kind::Fetch;
  AccessBlock head;
  head.window = window.uid;
  head.kind = asked.kind;
  head.replaces = is_accumulate && handle_key(asked.op) == handle_key(handles().replace);
  head.reads = is_accumulate && handle_key(asked.op) == handle_key(handles().no_op);
  if (is_accumulate) {
    const MPI_Datatype element = element_of(asked.type);
    head.operation = handle_key(asked.op);
    head.type = handle_key(element);
    const std::size_t size = size_of(element);
    head.elements = size > 0 ? static_cast<std::uint64_t>(asked.count) * size_of(asked.type) / size : 0;
  }
  const std::uint64_t all = static_cast<std::uint64_t>(asked.count) * size_of(asked.type);
  const bool gives = asked.kind != Kind::Get && !head.reads;
  head.given = gives ? asked.from.bytes + asked.compare.bytes : 0;
  head.wanted = asked.kind == Kind::Get || asked.kind == Kind::Fetch || asked.kind == Kind::Swap ? all : 0;
  head.runs = runs.size();

  auto made = std::make_shared<Access>();
  made->target = window.world_rank(asked.target);
  made->into = asked.into;
  std::vector<check::Lent::Part> parts;
  if (gives) parts.push_back(sent(asked.from));
  if (head.wanted > 0) parts.push_back(received(asked.into));
  made->lent = std::make_unique<check::Lent>(parts);
  made->data = actor().allot(head.size(), 1);
  auto* const block = reinterpret_cast<AccessBlock*>(actor().bytes(made->data));
  std::memcpy(block, &head, sizeof head);
  if (!runs.empty()) std::memcpy(block->run_list(), runs.data(), runs.size() * sizeof runs.front());
  if (gives) {
    pack(asked.from, block->data());
    pack(asked.compare, block->data() + asked.from.bytes);
  }
  made->operation = actor().new_operation();
  actor().act(Act::Access,
              {made->operation, as_word(made->target), made->data, this_site(), this_function_word()});
  window.pending.push_back(made);
  return made;
}

int begin(const Asked& asked, MPI_Win win) {
  if (asked.target != MPI_PROC_NULL) access(asked, *find_window(win));
  return MPI_SUCCESS;
}

// With a request of its own.
int begin(const Asked& asked, MPI_Win win, MPI_Request* handle) {
  auto request = std::make_shared<Request>();
  request->comm = find_window(win)->comm;
  request->posted = check::here();
  if (asked.target != MPI_PROC_NULL) {
    request->access = access(asked, *find_window(win));
    request->access->has_request = true;
    request->operation = request->access->operation;
  }
  return carry(std::move(request), handle);
}

template <class Count, class... Handle>
int put(const void* buffer, Count count, MPI_Datatype type, int target, MPI_Aint disp, Count tcount,
        MPI_Datatype ttype, MPI_Win win, Handle... handle) {
  return begin({Kind::Put, region(buffer, count, type), {}, {}, target, disp, tcount, ttype, {}}, win, handle...);
}

template <class Count, class... Handle>
int get(void* buffer, Count count, MPI_Datatype type, int target, MPI_Aint disp, Count tcount, MPI_Datatype ttype,
        MPI_Win win, Handle... handle) {
  return begin({Kind::Get, {}, {}, region(buffer, count, type), target, disp, tcount, ttype, {}}, win, handle...);
}

template <class Count, class... Handle>
int accumulate(const void* buffer, Count count, MPI_Datatype type, int target, MPI_Aint disp, Count tcount,
               MPI_Datatype ttype, MPI_Op op, MPI_Win win, Handle... handle) {
  return begin({Kind::Accumulate, region(buffer, count, type), {}, {}, target, disp, tcount, ttype, op}, win, handle...);
}

template <class Count, class... Handle>
int get_accumulate(const void* buffer, Count count, MPI_Datatype type, void* result, Count rcount, MPI_Datatype rtype,
                   int target, MPI_Aint disp, Count tcount, MPI_Datatype ttype, MPI_Op op, MPI_Win win,
                   Handle... handle) {
  const bool reads = handle_key(op) == handle_key(handles().no_op);
  return begin({Kind::Fetch, reads ? Region() : region(buffer, count, type), {}, region(result, rcount, rtype), target,
                disp, tcount, ttype, op},
               win, handle...);
}

int fetch_and_op(const void* buffer, void* result, MPI_Datatype type, int target, MPI_Aint disp, MPI_Op op, MPI_Win win) {
  return get_accumulate<int>(buffer, 1, type, result, 1, type, target, disp, 1, type, op, win);
}

int compare_and_swap(const void* buffer, const void* compare, void* result, MPI_Datatype type, int target,
                     MPI_Aint disp, MPI_Win win) {
  return begin({Kind::Swap, region(buffer, 1, type), region(compare, 1, type), region(result, 1, type), target, disp, 1,
                type, {}},
               win);
}

}  // namespace

void put_accesses() {
  put_in_place_of_library(Function::Put, &put<int>);
  put_in_place_of_library(Function::Put_c, &put<MPI_Count>);
  put_in_place_of_library(Function::Rput, &put<int, MPI_Request*>);
  put_in_place_of_library(Function::Rput_c, &put<MPI_Count, MPI_Request*>);
  put_in_place_of_library(Function::Get, &get<int>);
  put_in_place_of_library(Function::Get_c, &get<MPI_Count>);
  put_in_place_of_library(Function::Rget, &get<int, MPI_Request*>);
  put_in_place_of_library(Function::Rget_c, &get<MPI_Count, MPI_Request*>);
  put_in_place_of_library(Function::Accumulate, &accumulate<int>);
  put_in_place_of_library(Function::Accumulate_c, &accumulate<MPI_Count>);
  put_in_place_of_library(Function::Raccumulate, &accumulate<int, MPI_Request*>);
  put_in_place_of_library(Function::Raccumulate_c, &accumulate<MPI_Count, MPI_Request*>);
  put_in_place_of_library(Function::Get_accumulate, &get_accumulate<int>);
  put_in_place_of_library(Function::Get_accumulate_c, &get_accumulate<MPI_Count>);
  put_in_place_of_library(Function::Rget_accumulate, &get_accumulate<int, MPI_Request*>);
  put_in_place_of_library(Function::Rget_accumulate_c, &get_accumulate<MPI_Count, MPI_Request*>);
  put_in_place_of_library(Function::Fetch_and_op, &fetch_and_op);
  put_in_place_of_library(Function::Compare_and_swap, &compare_and_swap);
}

}  // namespace reprise::mpi::live
