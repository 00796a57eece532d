// The words of a compiler's command line, as far as `reprise cc` must understand them: what is compiled, and is anything linked?
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace reprise::cli {

enum class Language { C, Cxx, Fortran };

struct CompilerWords {
  std::vector<std::string> all;
  std::vector<std::size_t> sources;  // indices of files that are compiled
  std::vector<std::size_t> objects;  // and of those that are linked as they are
  bool links = false;                // the command ends with a program or a shared library
};
// Files of words (@file) are replaced by what is in them, as compilers do.
std::vector<std::string> with_files_of_words(const std::vector<std::string>& words);
// The words of such a file: separated by white space, with quotes and backslashes.
std::vector<std::string> words_of_file(std::string_view text);

CompilerWords understand(const std::vector<std::string>& words);

// The words that compile the source at this index, and no other, to this object.
std::vector<std::string> words_to_compile(const CompilerWords& words, std::size_t source, const std::string& object);

}  // namespace reprise::cli
