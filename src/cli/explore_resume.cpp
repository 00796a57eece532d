#include "cli/explore_resume.hpp"

#include <nlohmann/json.hpp>

#include <fstream>

#include "base/text.hpp"
#include "cli/explore_order.hpp"
#include "cli/speech.hpp"

namespace reprise::cli {

namespace {

std::string path_in(const std::string& directory) { return directory + "/search.json"; }

}  // namespace

void SavedSearch::write(const std::string& directory) const {
  nlohmann::json json{{"command", command},
                      {"ranks", ranks},
                      {"mpi", mpi},
                      {"buffering", buffering},
                      {"poll bound", poll_bound},
                      {"focus", reductions.focus},
                      {"loop bound", reductions.loop_bound},
                      {"mix", reductions.mix},
                      {"symmetric", reductions.symmetric},
                      {"seed", reductions.seed},
                      {"near", reductions.near},
                      {"regions", regions},
                      {"cancelled sites", cancelled_sites},
                      {"orders", orders}};
  for (const Mode& mode : modes)
    json["modes"].push_back({{"buffering", buffering_name(mode.buffering)}, {"left", mode.left}});
  std::ofstream file(path_in(directory), std::ios::trunc);
  file << json.dump() << '\n';
  file.flush();
  if (!file) fail("cannot write {}", printable(path_in(directory)));
}

SavedSearch SavedSearch::read(const std::string& directory) {
  std::ifstream file(path_in(directory));
  if (!file) fail("explore: {} holds no search that was stopped", printable(directory));
  try {
    const auto json = nlohmann::json::parse(file);
    SavedSearch search;
    search.command = json.at("command").get<std::vector<std::string>>();
    search.ranks = json.at("ranks");
    search.mpi = json.at("mpi");
    search.buffering = json.at("buffering");
    search.poll_bound = json.at("poll bound");
    search.reductions.focus = json.at("focus").get<std::vector<std::string>>();
    search.reductions.loop_bound = json.at("loop bound");
    search.reductions.mix = json.at("mix");
    search.reductions.symmetric = json.at("symmetric");
    search.reductions.seed = json.at("seed");
    search.reductions.near = json.at("near");
    search.regions = json.at("regions");
    search.cancelled_sites = json.at("cancelled sites").get<std::set<std::uint64_t>>();
    search.orders = json.at("orders");
    for (const auto& mode : json.at("modes"))
      search.modes.push_back(
          {buffering_of(mode.at("buffering")), mode.at("left").get<std::vector<std::vector<std::uint32_t>>>()});
    return search;
  } catch (const nlohmann::json::exception&) {
    fail("{} is damaged", printable(path_in(directory)));
  }
}

}  // namespace reprise::cli
