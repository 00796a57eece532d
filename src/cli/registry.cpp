#include "cli/registry.hpp"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/process.hpp"
#include "base/text.hpp"

namespace reprise::cli {

namespace {

constexpr std::size_t kKept = 10000;
constexpr std::size_t kSlack = 1000;  // prune seldom: it rewrites the file
constexpr std::size_t kMaxFile = 16u << 20;

std::string line_of(const trace::Manifest& manifest) {
  return hex(manifest.trace_id) + ' ' + trace::manifest_digest(manifest);
}

bool make_parents(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
    ::mkdir(path.substr(0, slash).c_str(), 0700);
  return ::access(path.substr(0, path.rfind('/')).c_str(), W_OK) == 0;
}

void prune(const std::string& path) {
  const auto text = read_file_at(AT_FDCWD, path, kMaxFile, true);
  if (!text) {
    ::unlink(path.c_str());  // larger than it can be: not ours
    return;
  }
  const auto lines = split(*text, '\n');  // the last one is empty
  if (lines.size() <= kKept + kSlack) return;
  const std::string fresh = path + '.' + std::to_string(::getpid());
  std::FILE* const out = std::fopen(fresh.c_str(), "we");
  if (!out) return;
  for (std::size_t i = lines.size() - kKept - 1; i + 1 < lines.size(); ++i) std::fprintf(out, "%s\n", lines[i].c_str());
  if (std::fclose(out) == 0) ::rename(fresh.c_str(), path.c_str());
  else ::unlink(fresh.c_str());
}

}  // namespace

std::string registry_path() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state && state[0] == '/') return std::string(state) + "/reprise/traces";
  const char* home = std::getenv("HOME");
  if (!home || home[0] != '/') {
    const passwd* entry = ::getpwuid(::getuid());
    home = entry ? entry->pw_dir : nullptr;
  }
  return home && home[0] == '/' ? std::string(home) + "/.local/state/reprise/traces" : "";
}

void register_trace(const trace::Manifest& manifest) {
  const std::string path = registry_path();
  if (path.empty() || !make_parents(path)) return;
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!fd) return;
  const std::string line = line_of(manifest) + '\n';
  if (::write(fd.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size())) prune(path);
}

bool is_own(const trace::Manifest& manifest) {
  const std::string path = registry_path();
  if (path.empty()) return false;
  const auto text = read_file_at(AT_FDCWD, path, kMaxFile, true);
  if (!text) return false;
  const std::string wanted = line_of(manifest);
  for (const std::string& line : split(*text, '\n'))
    if (line == wanted) return true;
  return false;
}

}  // namespace reprise::cli
