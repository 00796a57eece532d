#include "explore/private_files.hpp"

#include <cerrno>
#include <filesystem>

namespace reprise::explore {

namespace fs = std::filesystem;

bool renew_private_files(const std::string& directory) {
  std::error_code error;
  fs::remove_all(directory, error);
  if (!error) fs::create_directories(directory, error);
  const fs::path here = fs::current_path(error);
  for (fs::directory_iterator entry(here, error), end; !error && entry != end; entry.increment(error)) {
    fs::create_symlink(entry->path(), fs::path(directory) / entry->path().filename(), error);
  }
  if (error) errno = error.value();
  return !error;
}

void keep_written_files(const std::string& directory) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error))
    if (entry.is_symlink(error)) fs::remove(entry.path(), error);
  fs::remove(directory, error);  // which fails if there is something in it
}

}  // namespace reprise::explore
