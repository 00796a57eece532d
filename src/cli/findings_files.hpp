// What was found, in the forms that continuous integration reads.
#pragma once

#include <string>
#include <vector>

#include "cli/reported_finding.hpp"

namespace reprise::cli {

// SARIF 2.1.0: one result per finding. Throws UserError if the file cannot be written.
void write_sarif(const std::string& path, const std::vector<ReportedFinding>& findings);
// JUnit: one test case per finding, which has failed; or one that has passed. `name`: of the program; `command`:
// explore, lint.
void write_junit(const std::string& path, const std::vector<ReportedFinding>& findings, const std::string& command,
                 const std::string& name, double seconds);

}  // namespace reprise::cli
