// The calls of a trace as a table for people, on stdout.
#include <fmt/format.h>

#include <set>

#include "analyze/world_ranks.hpp"
#include "base/text.hpp"
#include "report/call_words.hpp"
#include "report/node_words.hpp"
#include "report/trace_head.hpp"
#include "report/trace_view.hpp"

namespace reprise::report {

namespace {

class TableView : public TraceView {
 public:
  TableView(Paint paint, bool filtered) : paint_(paint), filtered_(filtered) {}

  void begin(const std::string& path, const trace::Manifest& manifest, const analyze::RunEnd& end) override {
    print_trace_head(paint_, path, manifest, end);
  }

  void begin_rank(const analyze::RankEnd& rank) override {
    const std::string end = rank.trouble.empty() ? rank_end_words(rank) : "not readable";
    if (!rank.node.empty())
      head_ = fmt::format("\n{}  {} (rank {}, {}), {}\n", paint_.bold("node " + rank.node), counted(rank.calls, "call"), rank.rank,
                          rank.thread == 0 ? fmt::format("pid {} on {}", rank.pid, printable(rank.host)) : fmt::format("thread {}", rank.thread), end);
    else if (rank.thread == 0)
      head_ = fmt::format("\n{}  {}, pid {} on {}, {}\n", paint_.bold(fmt::format("rank {}", rank.rank)),
                          counted(rank.calls, "call"), rank.pid, printable(rank.host), end);
    else
      head_ = fmt::format("\n{}  {}\n", paint_.bold(fmt::format("rank {}, thread {}", rank.rank, rank.thread)),
                          counted(rank.calls, "call"));
    titled_ = false;
    defined_.clear();
    world_ = {};
    if (!filtered_) put_head();
  }

  void communicator(std::size_t number, const engine::CommunicatorRecord& communicator) override {
    if (!filtered_ && number > 1) aside(communicator_definition_words(number, communicator));
  }

  void note(const engine::NoteRecord& note) override {
    if (!filtered_) aside(paint_.careful(printable(note.key)) + ": " + printable(note.text));
  }

  void call(const analyze::Call& call, const analyze::Timeline& timeline, const analyze::SourceLine& at) override {
    put_head();
    if (filtered_) define(call, timeline);
    if (!titled_) row("#", "call", "comm", "peer", "tag", "bytes", "outcome", "at", true);
    titled_ = true;
    const std::string& function = timeline.function_of(call).name;
    const ShownArguments shown = shown_arguments(function, call.arguments);
    const auto& values = call.arguments;
    const bool nodes = is_mcapi(function);
    std::string outcome = nodes ? node_outcome(call) : outcome_words(call);
    if (const std::string* name = timeline.event_name(call)) outcome = '"' + printable(*name) + '"';
    row(std::to_string(call.number), printable(function),
        shown.communicator ? communicator_words(values[engine::kComm]) : "", nodes ? endpoint_words(values) : shown.peer ? peer(call, timeline) : "",
        shown.tag && !nodes ? tag_words(values[engine::kTag]) : "", shown.bytes ? std::to_string(values[engine::kBytes]) : "",
        outcome, at.text(), false);
  }

  void end_rank(std::uint64_t left_out, const std::string& trouble) override {
    if (left_out > 0 || !trouble.empty()) put_head();
    if (left_out > 0) aside(counted(left_out, "more call") + " (--limit 0 shows all)");
    if (!trouble.empty()) aside(paint_.bad("the log is not readable further: ") + printable(trouble));
  }

  void end() override {}

 private:
  void put_head() {
    fmt::print("{}", head_);
    head_.clear();
  }

  static void aside(const std::string& text) { fmt::print("{:>8}  {}\n", "", text); }

  // The communicator of a call that is shown, the first time.
  void define(const analyze::Call& call, const analyze::Timeline& timeline) {
    const std::int64_t number = call.arguments[engine::kComm];
    if (number < 2 || static_cast<std::size_t>(number) >= timeline.communicators().size()) return;
    if (!defined_.insert(number).second) return;
    const auto index = static_cast<std::size_t>(number);
    aside(communicator_definition_words(index, timeline.communicators()[index]));
  }

  // Which messages receives got comes first; the numbers behind them are the log's own.
  static std::string node_outcome(const analyze::Call& call) {
    if (call.wildcards.empty()) return outcome_words(call);
    analyze::Call rest = call;
    rest.wildcards.clear();
    rest.read.reset();
    std::string words;
    for (const auto& one : call.wildcards) words += (words.empty() ? "" : "; ") + origin_words(one);
    const std::string others = outcome_words(rest);
    return others.empty() ? words : others + "; " + words;
  }

  // As the program named it, and the world rank if that is another number.
  std::string peer(const analyze::Call& call, const analyze::Timeline& timeline) {
    const std::int64_t rank = call.arguments[engine::kPeer];
    const auto in_world = world_.peer(timeline.communicators(), call.arguments[engine::kComm], rank);
    return in_world && *in_world != rank ? fmt::format("{}=w{}", rank, *in_world) : peer_words(rank);
  }

  void row(const std::string& number, const std::string& call, const std::string& comm, const std::string& peer,
           const std::string& tag, const std::string& bytes, const std::string& outcome, const std::string& at,
           bool title) {
    const std::string left =
        fmt::format("{}  {} {} {} {} {}  {}", padded(number, 8, true), padded(call, 18), padded(comm, 7),
                    padded(peer, 5, true), padded(tag, 6, true), padded(bytes, 9, true), padded(outcome, 26));
    if (title) fmt::print("{}\n", paint_.dim(left + "  " + at));
    else fmt::print("{}  {}\n", left, paint_.dim(at));
  }

  Paint paint_;
  bool filtered_;
  std::string head_;  // of the rank, until it is printed
  bool titled_ = false;
  std::set<std::int64_t> defined_;
  analyze::WorldRanks world_;
};

}  // namespace

std::unique_ptr<TraceView> table_view(Paint paint, bool filtered) {
  return std::make_unique<TableView>(paint, filtered);
}

}  // namespace reprise::report
