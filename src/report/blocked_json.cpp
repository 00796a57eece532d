// Where every rank is, as one JSON object on stdout. docs/show.md documents the keys.
#include <fmt/format.h>

#include "base/text.hpp"
#include "report/blocked_view.hpp"
#include "report/json.hpp"

namespace reprise::report {

namespace {

using analyze::PlacedCall;
using analyze::Position;
using analyze::RankPlace;

const char* place_name(RankPlace place) {
  switch (place) {
    case RankPlace::NotStarted: return "not-started";
    case RankPlace::Computing: return "computing";
    case RankPlace::Polling: return "polling";
    case RankPlace::InCall: return "in-call";
    case RankPlace::Ended: return "ended";
    case RankPlace::Unreadable: return "unreadable";
  }
  return "";
}

Json call_json(const PlacedCall& call) {
  Json json = {{"number", call.number}, {"function", call.function}};
  if (!call.event.empty()) json["name"] = call.event;
  const auto shown = shown_arguments(call.kind, call.arguments);
  if (shown.communicator) json["communicator"] = call.arguments[engine::kComm];
  if (shown.communicator && call.communicator != 0) json["communicator_uid"] = hex(call.communicator);
  if (shown.peer) json["peer"] = call.arguments[engine::kPeer];
  if (shown.tag) json["tag"] = call.arguments[engine::kTag];
  if (shown.bytes) json["bytes"] = call.arguments[engine::kBytes];
  json["at"] = place_json(call.at);
  return json;
}

Json position_json(const Position& position) {
  Json json = {{"rank", position.rank}, {"moved", position.moved}};
  if (position.call) json["call"] = call_json(*position.call);
  if (position.posted) json["posted"] = call_json(*position.posted);
  if (position.waits_for) json["waits_for"] = *position.waits_for;
  if (position.failed_polls > 0) json["failed_polls"] = position.failed_polls;
  if (!position.ended.empty()) json["ended"] = position.ended;
  if (!position.trouble.empty()) json["error"] = position.trouble;
  return json;
}

Json deadlock_json(const analyze::ThreadDeadlock& deadlock) {
  Json threads = Json::array();
  for (const auto& thread : deadlock.stuck) {
    Json json = {{"thread", thread.number}, {"function", thread.function}, {"at", thread.at}};
    if (thread.function != "pthread_join") json["object"] = std::string(1, thread.object);
    if (thread.waits_for) json["waits_for"] = *thread.waits_for;
    json["holds"] = Json::array();
    for (const auto& lock : thread.holds)
      json["holds"].push_back({{"object", std::string(1, lock.name)}, {"taken_at", lock.at}});
    if (thread.signal)
      json["last_signal"] = {
          {"thread", thread.signal->thread}, {"at", thread.signal->at}, {"lost", thread.signal->before}};
    threads.push_back(std::move(json));
  }
  return {{"rank", deadlock.rank}, {"threads_of_rank", deadlock.threads}, {"ended", deadlock.ended}, {"stuck", threads}};
}

}  // namespace

void print_blocked_json(const std::string& path, const trace::Manifest& manifest, const analyze::RunEnd& end,
                        const analyze::Blocked& blocked, double watched) {
  Json json = trace_json(path, manifest, end);
  Json groups = Json::array();
  for (const analyze::PositionGroup& group : blocked.groups) {
    Json ranks = Json::array();
    for (const Position& position : group.ranks) ranks.push_back(position_json(position));
    groups.push_back(
        {{"place", place_name(group.ranks.front().place)}, {"missing", group.missing}, {"ranks", std::move(ranks)}});
  }
  Json deadlocks = Json::array();
  for (const analyze::ThreadDeadlock& deadlock : blocked.deadlocks) deadlocks.push_back(deadlock_json(deadlock));
  json["blocked"] = {{"watched_seconds", watched},
                     {"circles", blocked.circles},
                     {"deadlocks", std::move(deadlocks)},
                     {"groups", std::move(groups)}};
  fmt::print("{}\n", dump(json));
}

}  // namespace reprise::report
