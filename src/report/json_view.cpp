// The calls of a trace as one JSON object on stdout, written call by call so that a long trace needs no memory.
#include <fmt/format.h>

#include <cmath>

#include "analyze/world_ranks.hpp"
#include "base/text.hpp"
#include "report/call_words.hpp"
#include "report/json.hpp"
#include "report/node_words.hpp"
#include "report/trace_view.hpp"

namespace reprise::report {

namespace {

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

class JsonView : public TraceView {
 public:
  void begin(const std::string& path, const trace::Manifest& manifest, const analyze::RunEnd& end) override {
    std::string text = dump(trace_json(path, manifest, end));
    text.pop_back();  // the object goes on
    fmt::print("{},\"logs\":[", text);
  }

  void begin_rank(const analyze::RankEnd& rank) override {
    std::string text = dump(rank_json(rank));
    text.pop_back();
    fmt::print("{}\n{},\"calls\":[", first_rank_ ? "" : ",", text);
    first_rank_ = false;
    first_call_ = true;
    world_ = {};
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
                              {"remote_size", communicator.remote},
                              {"members", members}});
  }

  void note(const engine::NoteRecord& note) override {
    notes_.push_back({{"before_call", note.before_event}, {"key", note.key}, {"text", note.text}});
  }

  void call(const analyze::Call& call, const analyze::Timeline& timeline, const analyze::SourceLine& at) override {
    const std::string& function = timeline.function_of(call).name;
    Json json = {{"number", call.number}, {"function", function}};
    const ShownArguments shown = shown_arguments(function, call.arguments);
    if (shown.communicator) json["communicator"] = call.arguments[engine::kComm];
    if (const std::string* name = timeline.event_name(call)) json["name"] = *name;
    if (const std::string endpoint = is_mcapi(function) ? endpoint_words(call.arguments) : ""; !endpoint.empty()) json["endpoint"] = endpoint;
    if (shown.peer) {
      json["peer"] = call.arguments[engine::kPeer];
      if (const auto world = world_rank(call, timeline, call.arguments[engine::kPeer])) json["peer_world"] = *world;
    }
    if (shown.tag) json["tag"] = call.arguments[engine::kTag];
    if (shown.bytes) json["bytes"] = call.arguments[engine::kBytes];
    for (const auto& outcome : call.wildcards) {
      Json one = wildcard_json(outcome);
      if (outcome.code >= trace::kSourceBase)
        if (const auto world = world_rank(call, timeline, outcome.code - trace::kSourceBase))
          one["source_world"] = *world;
      json["wildcards"].push_back(std::move(one));
    }
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
  std::optional<std::uint32_t> world_rank(const analyze::Call& call, const analyze::Timeline& timeline,
                                          std::int64_t rank) {
    return world_.peer(timeline.communicators(), call.arguments[engine::kComm], rank);
  }

  bool first_rank_ = true;
  bool first_call_ = true;
  Json communicators_;
  Json notes_;
  analyze::WorldRanks world_;  // of the current rank
};

}  // namespace

std::unique_ptr<TraceView> json_view() { return std::make_unique<JsonView>(); }

}  // namespace reprise::report
