// The words of a compiler's command line, as far as `reprise cc` must understand them: what is compiled, and is anything linked?
#pragma once

#include <string>
#include <vector>

namespace reprise::cli {

enum class Language { C, Cxx, Fortran };

struct CompilerWords {
  std::vector<std::string> all;
  std::vector<std::size_t> sources;  // indices of files that are compiled
  std::vector<std::size_t> objects;  // and of those that are linked as they are
  bool links = false;                // the command ends with a program or a shared library
};
CompilerWords understand(const std::vector<std::string>& words);

// The words that compile the source at this index, and no other, to this object.
std::vector<std::string> words_to_compile(const CompilerWords& words, std::size_t source, const std::string& object);

}  // namespace reprise::cli
