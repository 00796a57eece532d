// The trace as one JSON object on stdout, written call by call so that a long trace needs no memory.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "report/call_words.hpp"
#include "report/trace_view.hpp"

namespace reprise::report {

namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json wildcard_json(const engine::WildcardOutcome& outcome) {
  switch (outcome.code) {
    case trace::kPending: return {{"state", "pending"}};
    case trace::kUnmatched: return {{"state", "unmatched"}};
    case trace::kAmbiguous: return {{"state", "ambiguous"}};
    case trace::kRefused: return {{"state", "refused"}};
    default: return {{"state", "matched"}, {"source", outcome.code - trace::kSourceBase}, {"tag", outcome.tag}};
  }
}

Json read_json(const analyze::ReadOutcome& read) {
  if (read.error != 0) return {{"errno", read.error}};
  if (read.numbers.empty()) return {{"bytes", read.bytes}};
  return {{"numbers", read.numbers}};
}

Json place_json(const analyze::SourceLine& at) {
  Json place = {{"module", at.module}, {"offset", at.offset}};
  if (!at.function.empty()) place["function"] = at.function;
  if (!at.file.empty()) {
    place["file"] = at.file;
    place["line"] = at.line;
  }
  if (at.changed) place["changed"] = true;
  return place;
}

class JsonView : public TraceView {
 public:
  void begin(const std::string& path, const trace::Manifest& manifest, const analyze::RunEnd& end) override {
    Json head = {
        {"trace", path},
        {"id", hex(manifest.trace_id)},
        {"reprise", manifest.reprise_version},
        {"command", manifest.command},
        {"directory", manifest.working_directory},
        {"mpi", manifest.mpi},
        {"mpi_library", manifest.mpi_library},
        {"host", manifest.host},
        {"architecture", manifest.architecture},
        {"started", manifest.started},
        {"seconds", manifest.seconds},
        {"ranks", manifest.ranks > 0 ? manifest.ranks : end.world},
        {"complete", manifest.complete},
        {"exit_status", manifest.exit_status},
        {"ended", manifest.complete ? manifest.ended : end.words},
        {"missing_ranks", end.missing},
        {"stopped_ranks", end.stopped},
    };
    if (end.cause) head["cause"] = *end.cause;
    std::string text = dump(head);
    text.pop_back();  // the object goes on
    fmt::print("{},\"logs\":[", text);
  }

  void begin_rank(const analyze::RankEnd& rank) override {
    Json head = {{"rank", rank.rank},
                 {"host", rank.host},
                 {"pid", rank.pid},
                 {"total_calls", rank.calls},
                 {"ended", rank_end_words(rank)}};
    if (const auto status = rank_exit_code(rank)) head["exit_status"] = *status;
    std::string text = dump(head);
    text.pop_back();
    fmt::print("{}\n{},\"calls\":[", first_rank_ ? "" : ",", text);
    first_rank_ = false;
    first_call_ = true;
    communicators_ = Json::array();
    notes_ = Json::array();
  }

  void communicator(std::size_t number, const engine::CommunicatorRecord& communicator) override {
    Json members = Json::array();
    for (const engine::MemberRange& range : communicator.members)
      members.push_back({{"first", range.first}, {"stride", range.stride}, {"count", range.count}});
    communicators_.push_back({{"number", number},
                              {"uid", hex(communicator.uid)},
                              {"parent", communicator.parent},
                              {"how", communicator.how},
                              {"counter", communicator.counter},
                              {"my_rank", communicator.my_rank},
                              {"size", communicator.size},
                              {"members", members}});
  }

  void note(const engine::NoteRecord& note) override {
    notes_.push_back({{"before_call", note.before_event}, {"key", note.key}, {"text", note.text}});
  }

  void call(const analyze::Call& call, const std::string& function, const analyze::SourceLine& at) override {
    Json json = {{"number", call.number}, {"function", function}};
    const ShownArguments shown = shown_arguments(function, call.arguments);
    if (shown.communicator) json["communicator"] = call.arguments[engine::kComm];
    if (shown.peer) json["peer"] = call.arguments[engine::kPeer];
    if (shown.tag) json["tag"] = call.arguments[engine::kTag];
    if (shown.bytes) json["bytes"] = call.arguments[engine::kBytes];
    for (const auto& outcome : call.wildcards) json["wildcards"].push_back(wildcard_json(outcome));
    if (call.poll) json["poll"] = {{"failures", call.poll->failures}, {"succeeded", call.poll->succeeded}};
    if (call.reports_indices) json["indices"] = call.indices.empty() ? Json() : Json(call.indices);
    if (call.time && std::isfinite(*call.time)) json["time"] = *call.time;
    if (call.read) json["read"] = read_json(*call.read);
    if (call.unfinished) json["unfinished"] = true;
    json["at"] = place_json(at);
    fmt::print("{}\n{}", first_call_ ? "" : ",", dump(json));
    first_call_ = false;
  }

  void end_rank(std::uint64_t left_out, const std::string& trouble) override {
    Json tail = {{"communicators", communicators_}, {"notes", notes_}, {"left_out", left_out}};
    if (!trouble.empty()) tail["error"] = trouble;
    fmt::print("],{}", dump(tail).substr(1));
  }

  void end() override { fmt::print("]}}\n"); }

 private:
  bool first_rank_ = true;
  bool first_call_ = true;
  Json communicators_;
  Json notes_;
};

}  // namespace

std::unique_ptr<TraceView> json_view() { return std::make_unique<JsonView>(); }

}  // namespace reprise::report
