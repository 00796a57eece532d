#include "cli/ignored_categories.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "cli/speech.hpp"

namespace reprise::cli {

IgnoredCategories::IgnoredCategories(const std::string& command, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    int number = 0;
    while (number < static_cast<int>(engine::Category::kCount) &&
           name != engine::category_name(static_cast<engine::Category>(number)))
      ++number;
    if (number == static_cast<int>(engine::Category::kCount))
      fail("{}: --ignore {}: there is no such category", command, printable(name));
    categories_.push_back(static_cast<engine::Category>(number));
  }
}

bool IgnoredCategories::contains(engine::Category category) const {
  return std::find(categories_.begin(), categories_.end(), category) != categories_.end();
}

}  // namespace reprise::cli
