#include "cli/temporary_directory.hpp"

#include <cstdlib>
#include <filesystem>

#include "base/process.hpp"
#include "base/text.hpp"
#include "cli/speech.hpp"

namespace reprise::cli {

TemporaryDirectory::TemporaryDirectory() {
  const char* const home = std::getenv("TMPDIR");
  path_ = fmt::format("{}/reprise-XXXXXX", home && *home ? home : "/tmp");
  if (!::mkdtemp(path_.data())) fail("cannot make a directory like {}: {}", printable(path_), error_text(errno));
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace reprise::cli
