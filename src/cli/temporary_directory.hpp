// A directory for as long as it is needed.
#pragma once

#include <string>
#include <utility>

namespace reprise::cli {

// Removed with everything in it when the object goes.
class TemporaryDirectory {
 public:
  TemporaryDirectory();  // throws UserError
  TemporaryDirectory(TemporaryDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
  ~TemporaryDirectory();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace reprise::cli
