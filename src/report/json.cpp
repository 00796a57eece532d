#include "report/json.hpp"

#include "base/text.hpp"

namespace reprise::report {

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

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

Json trace_json(const std::string& path, const trace::Manifest& manifest, const analyze::RunEnd& end) {
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
      {"running", end.running},
      {"exit_status", manifest.exit_status},
      {"ended", manifest.complete ? manifest.ended : end.words},
      {"missing_ranks", end.missing},
      {"stopped_ranks", end.stopped},
  };
  if (end.cause) head["cause"] = *end.cause;
  return head;
}

Json rank_json(const analyze::RankEnd& rank) {
  Json json = {{"rank", rank.rank},
               {"host", rank.host},
               {"pid", rank.pid},
               {"total_calls", rank.calls},
               {"ended", rank_end_words(rank)}};
  if (rank.thread > 0) json["thread"] = rank.thread;
  if (!rank.node.empty()) json["node"] = rank.node;
  if (const auto status = rank_exit_code(rank)) json["exit_status"] = *status;
  return json;
}

}  // namespace reprise::report
