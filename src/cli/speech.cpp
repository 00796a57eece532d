#include "cli/speech.hpp"

#include <unistd.h>

namespace reprise::cli {

// One write per sentence, so that it is not torn apart by what the ranks print meanwhile.
void say_line(const std::string& sentence) {
  const std::string line = "reprise: " + sentence + '\n';
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t written = ::write(STDERR_FILENO, line.data() + done, line.size() - done);
    if (written <= 0) return;
    done += static_cast<std::size_t>(written);
  }
}

}  // namespace reprise::cli
