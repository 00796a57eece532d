#include "cli/options.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/text.hpp"
#include "cli/speech.hpp"

namespace reprise::cli {

namespace {

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(std::string usage) : usage_(std::move(usage)) { column_width(26); }
  std::string make_usage(const CLI::App* app, std::string) const override {
    return fmt::format("\nUsage: reprise {} {}\n", app->get_name(), usage_);
  }

 private:
  std::string usage_;
};

[[noreturn]] void refuse_extra(const CLI::App& app, const std::string& extra) {
  const std::string help = fmt::format("reprise {} -h", app.get_name());
  if (extra.size() < 2 || extra[0] != '-')
    fail("{}: unexpected argument '{}' (see {})", app.get_name(), printable(extra), help);
  const std::string name = extra.substr(0, extra.find('='));
  const std::string_view near = nearest(name, option_names(app));
  if (near.empty()) fail("{}: unknown option '{}' (see {})", app.get_name(), printable(name), help);
  fail("{}: unknown option '{}'; did you mean '{}'?", app.get_name(), printable(name), near);
}

}  // namespace

CommandLine split_command_line(int argc, char** argv) {
  CommandLine line;
  for (int i = 1; i < argc; ++i) {
    if (line.separated) line.command.emplace_back(argv[i]);
    else if (std::string_view(argv[i]) == "--") line.separated = true;
    else line.own.emplace_back(argv[i]);
  }
  return line;
}

void set_manners(CLI::App& app, const std::string& usage) {
  app.formatter(std::make_shared<HelpFormatter>(usage));
  app.set_help_flag("-h,--help", "Show this help and end");
  app.allow_extras();  // so that we, not the parser, word the complaint
}

void add_mpi_option(CLI::App& app, std::string& mpi) {
  app.add_option("--mpi", mpi, "The program's MPI, when it cannot be told from the files")
      ->type_name("openmpi|mpich|none")
      ->check(CLI::IsMember({"openmpi", "mpich", "none"}).description(""));
}

std::optional<int> parse(CLI::App& app, std::vector<std::string> own) {
  std::reverse(own.begin(), own.end());  // the order that CLI11 wants
  try {
    app.parse(std::move(own));
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& error) {
    fail("{}: {} (see reprise {} -h)", app.get_name(), printable(error.what()), app.get_name());
  }
  const auto extras = app.remaining();
  if (!extras.empty()) refuse_extra(app, extras.front());
  return std::nullopt;
}

}  // namespace reprise::cli
