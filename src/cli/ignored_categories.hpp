// --ignore: categories of what is wrong that the user does not want to hear of.
#pragma once

#include <string>
#include <vector>

#include "engine/category.hpp"

namespace reprise::cli {

class IgnoredCategories {
 public:
  // By name. Throws UserError if there is no such category; `command` is who says so.
  IgnoredCategories(const std::string& command, const std::vector<std::string>& names);
  bool contains(engine::Category category) const;

 private:
  std::vector<engine::Category> categories_;
};

}  // namespace reprise::cli
