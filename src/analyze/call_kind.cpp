#include "analyze/call_kind.hpp"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string>

#include "engine/sites.hpp"

namespace reprise::analyze {

namespace {

using Names = std::initializer_list<std::string_view>;

bool is_one_of(std::string_view name, Names names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool starts_with_one_of(std::string_view name, Names starts) {
  return std::any_of(starts.begin(), starts.end(), [&](std::string_view start) { return name.starts_with(start); });
}

bool remove_suffix(std::string& name, std::string_view suffix) {
  if (!name.ends_with(suffix)) return false;
  name.resize(name.size() - suffix.size());
  return true;
}

bool is_point_to_point(std::string_view stem) {
  return is_one_of(stem,
                   {"send", "bsend", "ssend", "rsend", "recv", "sendrecv", "sendrecv_replace", "probe", "mprobe"});
}

bool is_rooted(std::string_view stem) {
  return is_one_of(stem, {"bcast", "reduce", "gather", "gatherv", "scatter", "scatterv"});
}

bool is_collective(std::string_view stem) {
  return starts_with_one_of(stem, {"all", "barrier", "scan", "exscan", "reduce_scatter", "neighbor_"}) &&
         stem != "alloc_mem";
}

// Collective too, but about communicators, windows and files rather than data.
bool makes_together(std::string_view stem) {
  return starts_with_one_of(stem, {"comm_dup", "comm_split", "cart_create", "cart_sub", "graph_create",
                                   "dist_graph_create", "win_create", "win_allocate"}) ||
         is_one_of(stem, {"comm_create", "comm_free", "file_open", "finalize"});
}

// Data by other ways than messages and collectives.
bool moves_otherwise(std::string_view stem) {
  if (stem.starts_with('r') || stem.starts_with('i')) stem.remove_prefix(1);  // Rput, Imrecv
  return is_one_of(stem, {"put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap", "mrecv"}) ||
         starts_with_one_of(stem, {"file_read", "file_write", "file_iread", "file_iwrite"});
}

Role role_of(std::string_view stem) {
  if (stem.find("probe") != std::string_view::npos) return Role::Probe;
  if (stem == "recv") return Role::Receive;
  return Role::Send;
}

}  // namespace

CallKind kind_of(std::string_view function) {
  CallKind kind;
  if (function == engine::kEventName) {
    kind.role = Role::Event;
    kind.known = true;
    return kind;
  }
  if (function.starts_with("mcapi_")) {
    kind.known = kind.peer = kind.tag = true;
    kind.of_nodes = true;
    const auto ends_or_begins = [&](std::string_view word) { return function.find(word) != function.npos; };
    if (function.find("_send") != function.npos && !ends_or_begins("_open") && !ends_or_begins("_close")) kind.role = Role::Send;
    kind.bytes = function.starts_with("mcapi_msg_send") || function.starts_with("mcapi_msg_recv") || function.starts_with("mcapi_pktchan_send");
    kind.moves_bytes = kind.bytes && kind.role == Role::Send;
    return kind;
  }
  if (function.starts_with("PMPI_")) function.remove_prefix(1);
  if (!function.starts_with("MPI_")) {
    kind.role = Role::Read;
    return kind;
  }
  function.remove_prefix(4);
  std::string stem(function);
  std::transform(stem.begin(), stem.end(), stem.begin(), [](unsigned char c) { return std::tolower(c); });
  remove_suffix(stem, "_c");
  kind.persistent = remove_suffix(stem, "_init");
  if (is_one_of(stem, {"start", "startall"})) kind.role = Role::Start;
  if (is_one_of(stem, {"wait", "waitall", "waitany", "waitsome"})) kind.role = Role::Completion;
  if (makes_together(stem)) kind.role = Role::Collective;
  // "MPI_Isend" is "send" that does not wait; "MPI_Is_thread_main" is not.
  std::string_view plain = stem;
  const bool immediate = stem.starts_with('i') && (is_point_to_point(plain.substr(1)) || is_rooted(plain.substr(1)) ||
                                                   is_collective(plain.substr(1)));
  if (immediate) plain.remove_prefix(1);
  kind.blocking = !immediate && !kind.persistent;
  if (is_point_to_point(plain)) {
    kind.role = role_of(plain);
    kind.known = kind.communicator = kind.peer = kind.tag = true;
    kind.bytes = kind.role != Role::Probe;
  } else if (is_rooted(plain) || is_collective(plain)) {
    kind.role = Role::Collective;
    kind.known = kind.communicator = true;
    kind.peer = is_rooted(plain);
    kind.bytes = plain != "barrier";
  } else if (stem.starts_with("comm_")) {
    kind.communicator = true;
    kind.known = stem.starts_with("comm_split");  // its tag and bytes are a colour and a key
  }
  kind.moves_bytes = kind.known ? kind.bytes : moves_otherwise(stem);
  return kind;
}

ShownArguments shown_arguments(const CallKind& kind, const engine::Arguments& values) {
  if (kind.known) return {kind.communicator, kind.peer, kind.tag, kind.bytes};
  if (kind.role == Role::Read) return {false, false, false, values[engine::kBytes] != 0};
  return {kind.communicator || values[engine::kComm] != 0, values[engine::kPeer] != 0, values[engine::kTag] != 0,
          values[engine::kBytes] != 0};
}

}  // namespace reprise::analyze
