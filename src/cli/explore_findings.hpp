// What an exploration has found: each thing once, with the first order that shows it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/source_lines.hpp"
#include "explore/addresses.hpp"
#include "explore/run.hpp"

namespace reprise::cli {

const char* category_name(explore::Category category);

class Findings {
 public:
  // Whose functions and addresses they are.
  void names(const virtual_world::Stage* stage);
  void add(const explore::RunResult& result, explore::Buffering buffering, std::uint64_t order);

  bool any() const { return !all_.empty(); }
  void print(std::uint64_t orders, double seconds);
  nlohmann::json json();

 private:
  struct Finding {
    explore::Problem problem;
    explore::Buffering buffering;
    std::uint64_t order = 0;   // the first
    std::uint64_t count = 1;   // in how many
    std::vector<std::uint32_t> options;
  };
  std::string line_of(std::uint64_t site);
  std::string function_name(std::uint32_t function) const;
  void print_places(const explore::Problem& problem);

  const virtual_world::Stage* stage_ = nullptr;
  std::optional<explore::Addresses> addresses_;
  analyze::SourceLines lines_;
  std::vector<Finding> all_;
};

}  // namespace reprise::cli
