// What each collective gives and takes (MPI 4.0, chapters 6 and 8). One function for all forms of a call: blocking,
// nonblocking, persistent, with either width of counts; told to whoever wants to know it (live/collective.hpp, which
// carries it out, and flow/collective.hpp, which looks at what the library does).
#pragma once

#include <algorithm>
#include <numeric>

#include "frontends/mpi/border/layout.hpp"
#include "frontends/mpi/entry.hpp"

namespace reprise::mpi::describe {

inline bool in_place(const void* buffer) { return buffer == MPI_IN_PLACE; }
template <class C>
int others(const C& c) { return c.inter() ? c.size() : c.size() - 1; }
inline std::vector<int> peers_below(int end) {
  std::vector<int> all(static_cast<std::size_t>(end));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

template <class C>
void Barrier(C& c) {
  c.waits_for_all();
  c.is_read_by_all();
}

template <class C, class Count>
void Bcast(C& c, void* buffer, Count count, MPI_Datatype type, int root) {
  c.agrees_on_root(root);
  if (c.is_root(root)) {
    c.gives(buffer, count, type);
    c.is_read_by(others(c));
  } else if (c.is_served(root)) {
    c.takes(root, 0, c.region(buffer, count, type));
  }
}

// --- gathering -------------------------------------------------------------------------------------------------------

template <class C, class Count>
void Gather(C& c, const void* sbuf, Count scount, MPI_Datatype stype, void* rbuf, Count rcount,
            MPI_Datatype rtype, int root) {
  c.agrees_on_root(root);
  if (c.takes_part(root) && root != MPI_ROOT && !(c.is_root(root) && in_place(sbuf))) {
    c.gives(sbuf, scount, stype);
    c.is_read_by(1);
  }
  if (!c.is_root(root)) return;
  for (int i = 0; i < c.size(); ++i)
    if (c.inter() || i != root || !in_place(sbuf))
      c.takes(i, 0, c.region(c.at(rbuf, static_cast<MPI_Count>(i) * rcount, rtype), rcount, rtype));
    else c.keeps(c.region(c.at(rbuf, static_cast<MPI_Count>(i) * rcount, rtype), rcount, rtype));
}

template <class C, class Count, class Counts, class Places>
void Gatherv(C& c, const void* sbuf, Count scount, MPI_Datatype stype, void* rbuf, const Counts* rcounts,
             const Places* rdispls, MPI_Datatype rtype, int root) {
  c.agrees_on_root(root);
  if (c.takes_part(root) && root != MPI_ROOT && !(c.is_root(root) && in_place(sbuf))) {
    c.gives(sbuf, scount, stype);
    c.is_read_by(1);
  }
  if (!c.is_root(root)) return;
  for (int i = 0; i < c.size(); ++i)
    if (c.inter() || i != root || !in_place(sbuf))
      c.takes(i, 0, c.region(c.at(rbuf, rdispls[i], rtype), rcounts[i], rtype));
    else c.keeps(c.region(c.at(rbuf, rdispls[i], rtype), rcounts[i], rtype));
}

template <class C, class Count>
void Allgather(C& c, const void* sbuf, Count scount, MPI_Datatype stype, void* rbuf, Count rcount,
               MPI_Datatype rtype) {
  if (in_place(sbuf)) c.gives(c.at(rbuf, static_cast<MPI_Count>(c.me()) * rcount, rtype), rcount, rtype);
  else c.gives(sbuf, scount, stype);
  c.is_read_by(c.size());
  for (int i = 0; i < c.size(); ++i)
    c.takes(i, 0, c.region(c.at(rbuf, static_cast<MPI_Count>(i) * rcount, rtype), rcount, rtype));
}

template <class C, class Count, class Counts, class Places>
void Allgatherv(C& c, const void* sbuf, Count scount, MPI_Datatype stype, void* rbuf, const Counts* rcounts,
                const Places* rdispls, MPI_Datatype rtype) {
  if (in_place(sbuf)) c.gives(c.at(rbuf, rdispls[c.me()], rtype), rcounts[c.me()], rtype);
  else c.gives(sbuf, scount, stype);
  c.is_read_by(c.size());
  for (int i = 0; i < c.size(); ++i) c.takes(i, 0, c.region(c.at(rbuf, rdispls[i], rtype), rcounts[i], rtype));
}

// --- scattering ------------------------------------------------------------------------------------------------------

template <class C, class Count>
void Scatter(C& c, const void* sbuf, Count scount, MPI_Datatype stype, void* rbuf, Count rcount,
             MPI_Datatype rtype, int root) {
  c.agrees_on_root(root);
  const bool is_root = c.is_root(root);
  if (is_root) {
    for (int i = 0; i < c.size(); ++i) c.gives(c.at(sbuf, static_cast<MPI_Count>(i) * scount, stype), scount, stype);
    c.is_read_by(others(c) + (!c.inter() && !in_place(rbuf) ? 1 : 0));
  }
  if (root >= 0 && !(is_root && in_place(rbuf)))
    c.takes(root, static_cast<std::size_t>(c.me()), c.region(rbuf, rcount, rtype));
}

template <class C, class Count, class Counts, class Places>
void Scatterv(C& c, const void* sbuf, const Counts* scounts, const Places* sdispls, MPI_Datatype stype,
              void* rbuf, Count rcount, MPI_Datatype rtype, int root) {
  c.agrees_on_root(root);
  const bool is_root = c.is_root(root);
  if (is_root) {
    for (int i = 0; i < c.size(); ++i) c.gives(c.at(sbuf, sdispls[i], stype), scounts[i], stype);
    c.is_read_by(others(c) + (!c.inter() && !in_place(rbuf) ? 1 : 0));
  }
  if (root >= 0 && !(is_root && in_place(rbuf)))
    c.takes(root, static_cast<std::size_t>(c.me()), c.region(rbuf, rcount, rtype));
}

// --- everybody to everybody ------------------------------------------------------------------------------------------

template <class C, class Count>
void Alltoall(C& c, const void* sbuf, Count scount, MPI_Datatype stype, void* rbuf, Count rcount,
              MPI_Datatype rtype) {
  const bool own = in_place(sbuf);
  for (int i = 0; i < c.size(); ++i) {
    const void* const from =
        own ? c.at(rbuf, static_cast<MPI_Count>(i) * rcount, rtype) : c.at(sbuf, static_cast<MPI_Count>(i) * scount, stype);
    c.gives(from, own ? rcount : scount, own ? rtype : stype);
    c.takes(i, static_cast<std::size_t>(c.me()),
            c.region(c.at(rbuf, static_cast<MPI_Count>(i) * rcount, rtype), rcount, rtype));
  }
  c.is_read_by(c.size());
}

template <class C, class Counts, class Places>
void Alltoallv(C& c, const void* sbuf, const Counts* scounts, const Places* sdispls, MPI_Datatype stype,
               void* rbuf, const Counts* rcounts, const Places* rdispls, MPI_Datatype rtype) {
  const bool own = in_place(sbuf);
  for (int i = 0; i < c.size(); ++i) {
    void* const to = c.at(rbuf, rdispls[i], rtype);
    if (own) c.gives(to, rcounts[i], rtype);
    else c.gives(c.at(sbuf, sdispls[i], stype), scounts[i], stype);
    c.takes(i, static_cast<std::size_t>(c.me()), c.region(to, rcounts[i], rtype));
  }
  c.is_read_by(c.size());
}

// Places are in bytes here.
template <class C, class Counts, class Places>
void Alltoallw(C& c, const void* sbuf, const Counts* scounts, const Places* sdispls,
               const MPI_Datatype* stypes, void* rbuf, const Counts* rcounts, const Places* rdispls,
               const MPI_Datatype* rtypes) {
  const bool own = in_place(sbuf);
  const TypesPerRank types(rtypes, true, c.size());
  const TypesPerRank sent(stypes, true, own ? 0 : c.size(), t_state.fortran_sent_types);
  for (int i = 0; i < c.size(); ++i) {
    char* const to = static_cast<char*>(rbuf) + rdispls[i];
    if (own) c.gives(to, rcounts[i], types.get()[i]);
    else c.gives(static_cast<const char*>(sbuf) + sdispls[i], scounts[i], sent.get()[i]);
    c.takes(i, static_cast<std::size_t>(c.me()), c.region(to, rcounts[i], types.get()[i]));
  }
  c.is_read_by(c.size());
}

// --- reductions ------------------------------------------------------------------------------------------------------

template <class C, class Count>
void Reduce(C& c, const void* sbuf, void* rbuf, Count count, MPI_Datatype type, MPI_Op op, int root) {
  c.agrees_on_root(root);
  c.agrees_on_operation(op);
  if (c.takes_part(root) && root != MPI_ROOT) {
    c.gives(in_place(sbuf) ? rbuf : sbuf, count, type);
    c.is_read_by(1);
  }
  if (c.is_root(root)) c.combines(peers_below(c.size()), count, 0, count, type, op, rbuf);
}

template <class C, class Count>
void Allreduce(C& c, const void* sbuf, void* rbuf, Count count, MPI_Datatype type, MPI_Op op) {
  c.agrees_on_operation(op);
  c.gives(in_place(sbuf) ? rbuf : sbuf, count, type);
  c.is_read_by(c.size());
  c.combines(peers_below(c.size()), count, 0, count, type, op, rbuf);
}

template <class C, class Counts>
void Reduce_scatter(C& c, const void* sbuf, void* rbuf, const Counts* rcounts, MPI_Datatype type, MPI_Op op) {
  c.agrees_on_operation(op);
  const int blocks = c.inter() ? c.local_size() : c.size();
  MPI_Count all = 0;
  MPI_Count mine = 0;
  for (int i = 0; i < blocks; ++i) {
    if (i == c.me()) mine = all;
    all += rcounts[i];
  }
  c.gives(in_place(sbuf) ? rbuf : sbuf, all, type);
  c.is_read_by(c.size());
  c.combines(peers_below(c.size()), all, mine, rcounts[c.me()], type, op, rbuf);
}

template <class C, class Count>
void Reduce_scatter_block(C& c, const void* sbuf, void* rbuf, Count rcount, MPI_Datatype type, MPI_Op op) {
  c.agrees_on_operation(op);
  const int blocks = c.inter() ? c.local_size() : c.size();
  c.gives(in_place(sbuf) ? rbuf : sbuf, static_cast<MPI_Count>(rcount) * blocks, type);
  c.is_read_by(c.size());
  c.combines(peers_below(c.size()), static_cast<MPI_Count>(rcount) * blocks, static_cast<MPI_Count>(rcount) * c.me(),
             rcount, type, op, rbuf);
}

template <class C, class Count>
void Scan(C& c, const void* sbuf, void* rbuf, Count count, MPI_Datatype type, MPI_Op op) {
  c.agrees_on_operation(op);
  c.gives(in_place(sbuf) ? rbuf : sbuf, count, type);
  c.is_read_by(c.size() - c.me());
  c.combines_prefixes();
  c.combines(peers_below(c.me() + 1), count, 0, count, type, op, rbuf);
}

template <class C, class Count>
void Exscan(C& c, const void* sbuf, void* rbuf, Count count, MPI_Datatype type, MPI_Op op) {
  c.agrees_on_operation(op);
  c.gives(in_place(sbuf) ? rbuf : sbuf, count, type);
  c.is_read_by(c.size() - c.me() - 1);
  c.combines_prefixes();
  c.combines(peers_below(c.me()), count, 0, count, type, op, rbuf);
}

// --- neighbours ------------------------------------------------------------------------------------------------------

inline int distinct(std::vector<int> ranks) {
  std::erase(ranks, -1);
  std::sort(ranks.begin(), ranks.end());
  return static_cast<int>(std::unique(ranks.begin(), ranks.end()) - ranks.begin());
}

template <class C, class Count>
void Neighbor_allgather(C& c, const void* sbuf, Count scount, MPI_Datatype stype, void* rbuf, Count rcount,
                        MPI_Datatype rtype) {
  c.gives(sbuf, scount, stype);
  c.is_read_by(distinct(c.outgoing()));
  MPI_Count i = 0;
  for (const auto& [peer, block] : c.incoming(true)) {
    if (peer >= 0) c.takes(peer, 0, c.region(c.at(rbuf, i * rcount, rtype), rcount, rtype));
    ++i;
  }
}

template <class C, class Count, class Counts, class Places>
void Neighbor_allgatherv(C& c, const void* sbuf, Count scount, MPI_Datatype stype, void* rbuf,
                         const Counts* rcounts, const Places* rdispls, MPI_Datatype rtype) {
  c.gives(sbuf, scount, stype);
  c.is_read_by(distinct(c.outgoing()));
  std::size_t i = 0;
  for (const auto& [peer, block] : c.incoming(true)) {
    if (peer >= 0) c.takes(peer, 0, c.region(c.at(rbuf, rdispls[i], rtype), rcounts[i], rtype));
    ++i;
  }
}

// `out` and `in`: the i-th region that is given or filled.
template <class C, class Out, class In>
void along_edges(C& c, Out out, In in) {
  const auto to = c.outgoing();
  for (std::size_t i = 0; i < to.size(); ++i) c.gives_to(to[i], to[i] >= 0 ? out(i) : typename C::Region());
  c.is_read_by(distinct(to));
  std::size_t i = 0;
  for (const auto& [peer, block] : c.incoming(false)) {
    if (peer >= 0 && c.is_grid()) c.takes(peer, block, in(i));
    else if (peer >= 0) c.takes_edge(peer, block, in(i));
    ++i;
  }
}

template <class C, class Count>
void Neighbor_alltoall(C& c, const void* sbuf, Count scount, MPI_Datatype stype, void* rbuf, Count rcount,
                       MPI_Datatype rtype) {
  along_edges(
      c, [&](std::size_t i) { return c.region(c.at(sbuf, static_cast<MPI_Count>(i) * scount, stype), scount, stype); },
      [&](std::size_t i) { return c.region(c.at(rbuf, static_cast<MPI_Count>(i) * rcount, rtype), rcount, rtype); });
}

template <class C, class Counts, class Places>
void Neighbor_alltoallv(C& c, const void* sbuf, const Counts* scounts, const Places* sdispls,
                        MPI_Datatype stype, void* rbuf, const Counts* rcounts, const Places* rdispls,
                        MPI_Datatype rtype) {
  along_edges(
      c, [&](std::size_t i) { return c.region(c.at(sbuf, sdispls[i], stype), scounts[i], stype); },
      [&](std::size_t i) { return c.region(c.at(rbuf, rdispls[i], rtype), rcounts[i], rtype); });
}

template <class C, class Counts, class Places>
void Neighbor_alltoallw(C& c, const void* sbuf, const Counts* scounts, const Places* sdispls,
                        const MPI_Datatype* stypes, void* rbuf, const Counts* rcounts, const Places* rdispls,
                        const MPI_Datatype* rtypes) {
  const TypesPerRank types(rtypes, true, c.edges().first);
  const TypesPerRank sent(stypes, true, c.edges().second, t_state.fortran_sent_types);
  along_edges(
      c, [&](std::size_t i) { return c.region(static_cast<const char*>(sbuf) + sdispls[i], scounts[i], sent.get()[i]); },
      [&](std::size_t i) { return c.region(static_cast<char*>(rbuf) + rdispls[i], rcounts[i], types.get()[i]); });
}

}  // namespace reprise::mpi::describe
