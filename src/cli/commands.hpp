// The sub-commands. Each lives in a file of its own, which owns its help and its options.
#pragma once

namespace reprise::cli {

// argv[0] is the sub-command's name. The result is the exit status. They throw UserError (cli/speech.hpp) for what
// the user can do something about; any other exception is a bug in Reprise.
int record_command(int argc, char** argv);
int replay_command(int argc, char** argv);
int show_command(int argc, char** argv);
int extract_command(int argc, char** argv);
int explore_command(int argc, char** argv);
int lint_command(int argc, char** argv);
int check_command(int argc, char** argv);
int explain_command(int argc, char** argv);
int cc_command(int argc, char** argv);
int cxx_command(int argc, char** argv);
int fc_command(int argc, char** argv);
int doctor_command(int argc, char** argv);
int version_command(int argc, char** argv);

// The whole command line, argv[0] being `reprise`. Throws nothing.
int run_command_line(int argc, char** argv);

}  // namespace reprise::cli
