// What a sweep has found: one entry for each distinct mistake, with what repeats it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "cli/sweep_run.hpp"

namespace reprise::cli {

class SweepFindings {
 public:
  explicit SweepFindings(const SweepPlan& plan) : plan_(plan) {}

  bool is_new(const Incident& incident) const;
  // `from`: the first case of the run, for what does not happen alone.
  void add(const Incident& incident, const SweepSetting& setting, int ranks, std::int64_t from);

  // Runs each case alone and writes what repeats it into the directory of the plan: finding-K.sh, and finding-K.c if there is
  // a stand-alone program. Hangs that are none, given more time, are taken out and returned. To be called once, at the end.
  std::vector<std::string> write_reproducers();

  bool empty() const { return findings_.empty(); }
  std::uint64_t count() const { return findings_.size(); }
  void print() const;
  nlohmann::json as_json() const;

 private:
  // The call, on what it was made, and what is wrong.
  using Key = std::tuple<std::string, std::string, std::string>;
  struct Finding {
    Key key;
    Incident first;
    SweepSetting setting;  // of the first one, like the next two
    int ranks = 0;
    std::int64_t from = 0;
    std::set<int> sizes;
    std::vector<std::string> settings;
    std::uint64_t times = 0;
    std::string reproducer;
    std::string remark;  // how it repeats
    bool is_slow = false;
  };

  static Key key_of(const Incident& incident);
  void write_reproducer(Finding& finding, std::size_t number) const;

  const SweepPlan& plan_;
  std::vector<Finding> findings_;
  std::map<Key, std::size_t> numbers_;
};

}  // namespace reprise::cli
