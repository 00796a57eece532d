// The text of a reproducer.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "flow/reproducer_parts.hpp"
#include "flow/reproducer_template.hpp"
#include "flow/type_code.hpp"

namespace reprise::flow::reproducing {
namespace {

constexpr std::size_t kWidth = 110;
// Longer ones nobody could compile, let alone read.
constexpr std::size_t kMostRuns = 1u << 16;
constexpr std::size_t kMostBlocks = 1u << 20;

// One line of a comment, whatever is in it.
std::string comment(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == '\\') c = ' ';
  return text;
}

std::string function(std::string_view name, const std::string& body) {
  return fmt::format("static void {}(void) {{\n{}}}\n", name, body);
}

bool mentions(const std::vector<std::string>& texts, std::string_view what) {
  return std::ranges::any_of(texts, [&](const std::string& text) { return text.find(what) != std::string::npos; });
}

}  // namespace

std::string indented(const std::string& text, std::size_t by) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    out.append(by, ' ').append(text, at, end - at);
    at = end;
  }
  return out;
}

std::string wrapped(std::string_view text) {
  std::string out;
  std::size_t width = 0;
  while (!text.empty()) {
    const std::size_t comma = text.find(", ");
    const std::string_view piece = text.substr(0, comma == std::string_view::npos ? comma : comma + 1);
    text.remove_prefix(std::min(text.size(), piece.size() + 1));
    out += piece;
    width += piece.size();
    if (text.empty()) break;
    const bool is_full = width + 1 + std::min(text.find(", "), text.size()) >= kWidth;
    out += is_full ? "\n      " : " ";
    width = is_full ? 6 : width + 1;
  }
  return out + '\n';
}

std::string numbers(const std::vector<std::int64_t>& values) {
  return values.empty() ? "0" : fmt::format("{}", fmt::join(values, ", "));  // C has no empty lists
}

std::string by_rank(const std::vector<std::string>& texts) {
  std::vector<std::pair<std::string, std::vector<std::size_t>>> groups;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    auto found = std::ranges::find(groups, texts[rank], [](const auto& group) -> const std::string& { return group.first; });
    if (found == groups.end()) found = groups.insert(groups.end(), {texts[rank], {}});
    found->second.push_back(rank);
  }
  if (groups.size() == 1) return groups[0].first;
  std::ranges::stable_sort(groups, {}, [](const auto& group) { return group.second.size(); });
  const auto& few = groups[0];
  const auto& many = groups.back();
  if (groups.size() == 2 && few.second.size() == 1) {
    const std::string one = indented(few.first, 2);
    const std::string others = indented(many.first, 2);
    if (one.empty()) return fmt::format("  if (rank != {}) {{\n{}  }}\n", few.second[0], others);
    if (others.empty()) return fmt::format("  if (rank == {}) {{\n{}  }}\n", few.second[0], one);
    return fmt::format("  if (rank == {}) {{\n{}  }} else {{\n{}  }}\n", few.second[0], one, others);
  }
  std::string out = "  switch (rank) {\n";
  for (const auto& [text, ranks] : groups) {
    std::string labels;
    for (const std::size_t rank : ranks) labels += fmt::format("    case {}:\n", rank);
    if (&text == &many.first && ranks.size() > 1) labels = "    default:\n";
    labels.insert(labels.size() - 1, " {");
    out += fmt::format("{}{}      break;\n    }}\n", labels, indented(text, 4));
  }
  return out + "  }\n";
}

// --- datatypes -------------------------------------------------------------------------------------------------------

std::size_t Types::find(const LoggedType& type) {
  if (const auto found = known_.find(&type); found != known_.end()) return found->second;
  if (!type.flat.known || !can_be_made(type.tree)) throw Impossible{"a datatype cannot be taken apart"};
  const auto [place, is_new] = by_tree_.try_emplace(engine::to_bytes(type.tree), all_.size());
  if (is_new) {
    Entry entry;
    entry.type = &type;
    const bool is_named = type.tree.made == engine::TypeTree::Made::Named;
    entry.name = is_named ? type.tree.name : fmt::format("type_{}", all_.size() + 1);
    if (!is_named) entry.code = type_code(type.tree, entry.name);
    entry.is_freed = !is_predefined(type.tree);
    all_.push_back(std::move(entry));
  }
  known_.emplace(&type, place->second);
  return place->second;
}

std::string Types::handle(const LoggedBlock& block) {
  if (block.count > 0) return all_[find(*block.type)].name;
  try {
    if (block.type) return all_[find(*block.type)].name;
  } catch (const Impossible&) {
  }
  return "MPI_BYTE";
}

void Types::relies_on_extent(const LoggedType& type) { all_[find(type)].needs_extent = true; }

std::string Types::layout(const LoggedBlock& block) {
  if (block.count == 0) return "NULL";
  if (block.count > 1) relies_on_extent(*block.type);
  const std::size_t number = find(*block.type);
  Entry& entry = all_[number];
  if (!entry.table.empty()) return fmt::format("&layout_{}", number + 1);
  const engine::FlatType& flat = entry.type->flat;
  std::vector<std::string> rows;
  for (std::size_t i = 0; i < flat.runs.size();) {
    const std::int64_t stride = i + 1 < flat.runs.size() ? flat.runs[i + 1].offset - flat.runs[i].offset : 0;
    std::size_t end = i + 1;
    while (end < flat.runs.size() && flat.runs[end].size == flat.runs[i].size &&
           flat.runs[end].offset - flat.runs[end - 1].offset == stride)
      ++end;
    const std::size_t copies = end - i;
    rows.push_back(fmt::format("{{{}, {}, {}, {}}}", flat.runs[i].offset, flat.runs[i].size, copies, copies > 1 ? stride : 0));
    i = end;
  }
  if (rows.size() > kMostRuns) throw Impossible{"a datatype has too many pieces to be written down"};
  entry.table = rows.empty() ? fmt::format("static const struct layout layout_{} = {{NULL, 0, {}}};", number + 1, flat.extent)
                             : wrapped(fmt::format("static const struct run runs_{}[] = {{{}}};", number + 1, fmt::join(rows, ", "))) +
                                   fmt::format("static const struct layout layout_{0} = {{runs_{0}, {1}, {2}}};", number + 1,
                                               rows.size(), flat.extent);
  entry.table += fmt::format("  // {}\n", entry.name);
  return fmt::format("&layout_{}", number + 1);
}

std::string Types::tables() const {
  std::string out;
  for (const Entry& entry : all_) out += entry.table;
  return out;
}

std::string Types::variables() const {
  std::vector<std::string> names;
  for (const Entry& entry : all_)
    if (!entry.code.empty()) names.push_back(entry.name);
  return names.empty() ? std::string() : wrapped(fmt::format("static MPI_Datatype {};", fmt::join(names, ", ")));
}

std::string Types::make() const {
  std::string out;
  for (const Entry& entry : all_) {
    out += entry.code;
    if (entry.needs_extent && !entry.code.empty())
      out += fmt::format("  expect_extent({}, {});\n", entry.name, entry.type->flat.extent);
  }
  return out;
}

std::string Types::release() const {
  std::string out;
  for (const Entry& entry : all_)
    if (entry.is_freed) out += fmt::format("  MPI_Type_free(&{});\n", entry.name);
  return out;
}

// --- all of it -------------------------------------------------------------------------------------------------------

namespace {

// Each list of blocks, and each share, is written once.
class Tables {
 public:
  explicit Tables(Plan& plan) : plan_(plan) {}

  std::string text() {
    std::vector<std::size_t> share_of;
    std::map<std::string, std::size_t> numbered;
    std::string rows;
    for (const Member& member : plan_.members) {
      const std::string row = plan_.element.empty() ? blocks_row(member) : reduction_row(member);
      const auto [found, is_new] = numbered.try_emplace(row, numbered.size());
      if (is_new) rows += row;
      share_of.push_back(found->second);
    }
    std::string out = fmt::format("{}static const struct share shares[] = {{\n{}}};\n", lists_, rows);
    const bool one = numbered.size() == 1;
    const bool each = numbered.size() == plan_.members.size();
    if (!one && !each)
      out += wrapped(fmt::format("static const int share_number[RANKS] = {{{}}};", fmt::join(share_of, ", ")));
    return out + fmt::format("static const struct share* share_of(int of) {{\n{}}}\n",
                             one    ? "  (void)of;  // all have the same\n  return &shares[0];\n"
                             : each ? "  return &shares[of];\n"
                                    : "  return &shares[share_number[of]];\n");
  }

 private:
  std::string list(const char* what, const char* prefix, const std::vector<std::string>& rows) {
    if (rows.empty()) return "NULL";
    const auto [found, is_new] = names_.try_emplace(fmt::format("{} {}", what, fmt::join(rows, "")), std::string());
    if (is_new) {
      if ((blocks_ += rows.size()) > kMostBlocks) throw Impossible{"there are too many blocks to write them all down"};
      found->second = fmt::format("{}_{}", prefix, ++lists_of_[prefix]);
      lists_ += fmt::format("static const struct {} {}[] = {{\n{}}};\n", what, found->second, fmt::join(rows, ""));
    }
    return found->second;
  }

  std::string blocks_row(const Member& member) {
    std::vector<std::string> gives, takes;
    for (const LoggedBlock& block : member.gives)
      gives.push_back(fmt::format("    {{{}, {}, {}}},\n", block.place, block.count, plan_.types.layout(block)));
    for (const Take& take : member.takes)
      takes.push_back(fmt::format("    {{{{{}, {}, {}}}, {}, {}}},\n", take.block.place, take.block.count,
                                  plan_.types.layout(take.block), take.from,
                                  take.is_mine ? std::string("MINE") : fmt::format("{}", take.number)));
    const std::string given_list = list("block", "gives", gives);
    const std::string taken_list = list("take", "takes", takes);
    return fmt::format("    {{{}, {}, {}, {}, {}, {}, {}, {}, {}}},\n", given_list, gives.size(), taken_list, takes.size(),
                       member.one_buffer ? 1 : 0, member.given.from, member.given.to, member.taken.from, member.taken.to);
  }

  static std::string reduction_row(const Member& member) {
    return fmt::format("    {{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}}},\n", member.contributes, member.results, member.first,
                       member.first_peer, member.peers, member.one_buffer ? 1 : 0, member.given.from, member.given.to,
                       member.taken.from, member.taken.to);
  }

  Plan& plan_;
  std::string lists_;
  std::size_t blocks_ = 0;
  std::map<std::string, std::string> names_;
  std::map<std::string, int> lists_of_;
};

std::string communicator(const Plan& plan) {
  if (plan.local > 0)
    return fmt::format(
        "  MPI_Comm half;\n"
        "  MPI_Comm_split(MPI_COMM_WORLD, rank < {0} ? 0 : 1, rank, &half);\n"
        "  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < {0} ? {0} : 0, 0, &comm);\n"
        "  MPI_Comm_free(&half);\n",
        plan.local);
  const auto list = [](const char* name, const auto& values) {
    return wrapped(fmt::format("  static const int {}[] = {{{}}};", name,
                               numbers(std::vector<std::int64_t>(values.begin(), values.end()))));
  };
  if (const auto* grid = std::get_if<virtual_world::Cartesian>(&plan.topology))
    return list("dims", grid->dims) + list("periods", grid->periodic) +
           fmt::format("  MPI_Cart_create(MPI_COMM_WORLD, {}, dims, periods, 0, &comm);\n", grid->dims.size());
  if (const auto* graph = std::get_if<virtual_world::Graph>(&plan.topology))
    return list("ends", graph->index) + list("edges", graph->edges) +
           "  MPI_Graph_create(MPI_COMM_WORLD, RANKS, ends, edges, 0, &comm);\n";
  if (!std::holds_alternative<virtual_world::DistributedGraph>(plan.topology)) return "  comm = MPI_COMM_WORLD;\n";
  std::vector<std::string> texts;
  for (const Member& member : plan.members) {
    const auto& graph = std::get<virtual_world::DistributedGraph>(member.shape->group->topology);
    texts.push_back(list("sources", graph.sources) + list("destinations", graph.destinations) +
                    wrapped(fmt::format("  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, {}, sources, MPI_UNWEIGHTED, {}, "
                                        "destinations, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);",
                                        graph.sources.size(), graph.destinations.size())));
  }
  return by_rank(texts);
}

// Of a call that blocks: otherwise complete() does it.
constexpr const char* kStatusVariable =
    "  MPI_Status status;\n"
    "  memset(&status, 0x55, sizeof status);  // so that it is seen if MPI does not set it\n";

std::string heading(const Plan& plan, const Violation& violation, const std::string& name) {
  std::vector<std::string> calls;
  for (const Member& member : plan.members)
    if (const std::string call = member.shape->call(); std::ranges::find(calls, call) == calls.end()) calls.push_back(call);
  const std::string_view kind = flow::name_of(violation.kind);
  const std::size_t ranks = plan.members.size();
  return fmt::format(
      "// {2} with {1} rank{3}: {4}.\n"
      "// {5}\n"
      "//\n"
      "//   mpicc {0}.c -o {0} && mpirun -n {1} ./{0}\n"
      "//\n"
      "// This makes the same call with the same shape of communicator, counts, places and datatypes, on other data. It\n"
      "// prints \"ok\"; or \"WRONG: ...\", and ends with status 1. What a rank gives follows from its number and the place in\n"
      "// its buffer, so every rank knows what it must get. MPI is not asked which bytes a datatype describes.\n{6}",
      name, ranks, fmt::join(calls, " and "), ranks == 1 ? "" : "s", kind, comment(violation.words),
      plan.remark.empty() ? "" : "// " + plan.remark + "\n");
}

}  // namespace

std::string program(Plan& plan, const Violation& violation, const std::string& name) {
  std::vector<std::string> prepare, communicate, release;
  for (const Member& member : plan.members) {
    prepare.push_back(member.prepare);
    communicate.push_back(member.communicate);
    release.push_back(member.release);
  }
  const std::string shares = Tables(plan).text();
  const std::string make = plan.types.make();
  const bool is_reduction = !plan.element.empty();
  const bool prepares = mentions(prepare, ";");

  std::string out = heading(plan, violation, name);
  out += "#include <mpi.h>\n#include <stdarg.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n";
  if (std::holds_alternative<virtual_world::DistributedGraph>(plan.topology)) out += kNoWeights;
  out += fmt::format("\nenum {{ RANKS = {}, ROUNDS = {}, GUARD = 64, MINE = -1 }};\n", plan.members.size(), plan.rounds);
  out += kGlobals;

  out += "\n// --- the call ---\n\n";
  const bool needs_extents = make.find("expect_extent") != std::string::npos;
  if (needs_extents) out += "static void expect_extent(MPI_Datatype type, long long extent);\n";
  if (plan.is_message)
    out += "static void check_status(const MPI_Status* status, int source, int tag, MPI_Datatype type, int count);\n";
  const bool completes = mentions(communicate, " complete(");
  if (completes) out += "static MPI_Status complete(MPI_Request* request);\n";
  if (needs_extents || plan.is_message || completes) out += '\n';
  if (!make.empty()) out += plan.types.variables() + function("make_types", make);
  const std::string free_types = plan.types.release();
  if (!free_types.empty()) out += function("free_types", free_types);
  out += function("make_communicator", communicator(plan)) + '\n';
  for (const char* request : {"request", "send_request", "receive_request", "other_request"})
    if (mentions(communicate, fmt::format("(&{}", request))) out += fmt::format("static MPI_Request {};\n", request);
  if (prepares) out += function("prepare", by_rank(prepare));
  out += plan.before_call;
  if (mentions(communicate, "fill_window")) out += "static void fill_window(void);\n";
  const char* const status = mentions(communicate, ", &status);") ? kStatusVariable : mentions(communicate, "&status") ? "  MPI_Status status;\n" : "";
  out += function("communicate", status + by_rank(communicate));

  out += kShares;
  const std::string tables = plan.types.tables();
  if (!tables.empty()) (out += kLayouts) += '\n' + tables;
  out += is_reduction ? kReductionShare : kBlocks;
  out += '\n' + shares;

  out += kHelpers;
  if (needs_extents) out += kExtents;
  if (!is_reduction)
    out += fmt::format("\nstatic int number_in_group(void) {{ return {}; }}\n",
                       plan.local > 0 ? fmt::format("rank < {0} ? rank : rank - {0}", plan.local) : "rank");
  if (is_reduction) (out += plan.element) += kReduction;
  else out += kTransfer;
  if (mentions(communicate, "fill_window")) out += kWindow;
  if (completes) out += kCompletion;
  if (plan.is_message) out += kStatus;

  std::string main(kMain);
  const auto put = [&](std::string_view mark, const std::string& text) { main.replace(main.find(mark), mark.size() + 1, text); };
  put("@MAKE@", make.empty() ? "" : "  make_types();\n");
  put("@PREPARE@", prepares ? "  prepare();\n" : "");
  put("@RELEASE@", by_rank(release) + (free_types.empty() ? "" : "  free_types();\n"));
  return out + main;
}

}  // namespace reprise::flow::reproducing
