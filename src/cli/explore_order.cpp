#include "cli/explore_order.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/process.hpp"
#include "base/text.hpp"
#include "cli/speech.hpp"

namespace reprise::cli {

namespace {

constexpr const char* kFile = "order.json";

}  // namespace

const char* buffering_name(explore::Buffering buffering) {
  return buffering == explore::Buffering::None ? "none" : buffering == explore::Buffering::Mixed ? "mixed" : "infinite";
}

explore::Buffering buffering_of(const std::string& name) {
  return name == "none"    ? explore::Buffering::None
         : name == "mixed" ? explore::Buffering::Mixed
                           : explore::Buffering::Infinite;
}

void write_order_facts(int dir_fd, const OrderFacts& facts) {
  const nlohmann::json json{{"options", facts.options},
                            {"buffering", buffering_name(facts.buffering)},
                            {"poll bound", facts.poll_bound},
                            {"cancelled sites", facts.cancelled_sites},
                            {"windows", facts.has_windows},
                            {"categories", facts.categories}};
  const std::string text = json.dump(1) + "\n";
  const UniqueFd fd(::openat(dir_fd, kFile, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!fd || ::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    say("{} could not be written: {}", kFile, error_text(errno));
}

OrderFacts read_order_facts(const OpenTrace& trace) {
  const auto text = read_file_at(trace.fd.get(), kFile, 64u << 20, false);
  if (!trace.manifest.explored || !text) fail("{} is no order that `reprise explore` has saved", printable(trace.path));
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  try {
    OrderFacts facts;
    facts.options = json.at("options").get<std::vector<std::uint32_t>>();
    facts.buffering = buffering_of(json.at("buffering"));
    facts.poll_bound = json.at("poll bound");
    facts.cancelled_sites = json.at("cancelled sites").get<std::set<std::uint64_t>>();
    facts.has_windows = json.value("windows", false);
    facts.categories = json.at("categories").get<std::vector<std::string>>();
    return facts;
  } catch (const nlohmann::json::exception&) {
    fail("{}/{} is damaged", printable(trace.path), kFile);
  }
}

bool has_windows(const OpenTrace& trace) {
  const auto text = read_file_at(trace.fd.get(), kFile, 64u << 20, false);
  const auto json = text ? nlohmann::json::parse(*text, nullptr, false) : nlohmann::json();
  const auto found = json.find("windows");
  return json.is_object() && found != json.end() && *found == true;
}

explore::RunOptions run_options_of(const OrderFacts& facts) {
  explore::RunOptions run;
  run.buffering = facts.buffering;
  run.poll_bound = facts.poll_bound;
  run.cancelled_sites = facts.cancelled_sites;
  return run;
}

bool shows(const explore::RunResult& result, const std::string& category) {
  return std::any_of(result.problems.begin(), result.problems.end(), [&](const explore::Problem& problem) {
    return engine::category_name(problem.category) == category ||
           (problem.category == explore::Category::Crash && category == "assertion failure");
  });
}

}  // namespace reprise::cli
