#include "cli/options.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>

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

OptionRules OptionRules::required() {
  option_->required();
  return *this;
}

OptionRules OptionRules::one_of(const std::vector<std::string>& words) {
  option_->check(CLI::IsMember(words).description(""));
  return *this;
}

OptionRules OptionRules::positive() {
  option_->check(CLI::PositiveNumber);
  return *this;
}

OptionRules OptionRules::bytes() {
  option_->transform(CLI::AsSizeValue(false));
  return *this;
}

OptionRules OptionRules::comma_separated() {
  option_->allow_extra_args(false)->delimiter(',');
  return *this;
}

OptionRules OptionRules::default_shown() {
  option_->capture_default_str();
  return *this;
}

OptionRules OptionRules::checked(std::function<std::string(const std::string&)> complaint) {
  option_->check(std::move(complaint));
  return *this;
}

OptionParser::OptionParser(const std::string& name, const std::string& what_it_does, const std::string& usage)
    : app_(std::make_unique<CLI::App>(what_it_does, name)) {
  app_->formatter(std::make_shared<HelpFormatter>(usage));
  app_->set_help_flag("-h,--help", "Show this help and end");
  app_->allow_extras();  // so that we, not the parser, word the complaint
}

OptionParser::~OptionParser() = default;

void OptionParser::flag(const std::string& names, bool& value, const std::string& help) {
  app_->add_flag(names, value, help);
}

OptionRules OptionParser::option(const std::string& names, std::string& value, const std::string& help,
                                 const char* type) {
  return OptionRules(app_->add_option(names, value, help)->type_name(type));
}

OptionRules OptionParser::option(const std::string& names, std::vector<std::string>& value, const std::string& help,
                                 const char* type) {
  return OptionRules(app_->add_option(names, value, help)->type_name(type));
}

OptionRules OptionParser::option(const std::string& names, int& value, const std::string& help, const char* type) {
  return OptionRules(app_->add_option(names, value, help)->type_name(type));
}

OptionRules OptionParser::option(const std::string& names, std::uint32_t& value, const std::string& help,
                                 const char* type) {
  return OptionRules(app_->add_option(names, value, help)->type_name(type));
}

OptionRules OptionParser::option(const std::string& names, std::uint64_t& value, const std::string& help,
                                 const char* type) {
  return OptionRules(app_->add_option(names, value, help)->type_name(type));
}

OptionRules OptionParser::option(const std::string& names, double& value, const std::string& help, const char* type) {
  return OptionRules(app_->add_option(names, value, help)->type_name(type));
}

OptionRules OptionParser::option(const std::string& names, std::optional<std::uint32_t>& value, const std::string& help,
                                 const char* type) {
  return OptionRules(app_->add_option(names, value, help)->type_name(type));
}

OptionRules OptionParser::option(const std::string& names, std::optional<std::uint64_t>& value, const std::string& help,
                                 const char* type) {
  return OptionRules(app_->add_option(names, value, help)->type_name(type));
}

void OptionParser::mpi_option(std::string& mpi) {
  option("--mpi", mpi, "The program's MPI, when it cannot be told from the files", "openmpi|mpich|mcapi|none")
      .one_of({"openmpi", "mpich", "mcapi", "none"});
}

std::optional<int> OptionParser::parse(std::vector<std::string> own) {
  std::reverse(own.begin(), own.end());  // the order that CLI11 wants
  try {
    app_->parse(std::move(own));
  } catch (const CLI::CallForHelp&) {
    std::fputs(app_->help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& error) {
    fail("{}: {} (see reprise {} -h)", app_->get_name(), printable(error.what()), app_->get_name());
  }
  const auto extras = app_->remaining();
  if (!extras.empty()) refuse_extra(*app_, extras.front());
  return std::nullopt;
}

}  // namespace reprise::cli
