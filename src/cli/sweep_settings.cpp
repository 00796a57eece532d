#include "cli/sweep_settings.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/text.hpp"

namespace reprise::cli {
namespace {

constexpr std::string_view kNonblocking = "nonblocking,persistent";  // persistent ones are mostly made of these
constexpr std::string_view kDeviceCollectives = "MPIR_CVAR_DEVICE_COLLECTIVES";

std::optional<std::string_view> between(std::string_view text, std::string_view before, std::string_view after) {
  if (text.size() <= before.size() + after.size() || !text.starts_with(before) || !text.ends_with(after)) return std::nullopt;
  return text.substr(before.size(), text.size() - before.size() - after.size());
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// "MPIR_CVAR_IBCAST_INTRA_ALGORITHM"
std::optional<SweepSetting> of_mpich(const std::string& name, const std::string& value, bool has_device) {
  SweepSetting setting;
  setting.environment = {{name, value}};
  auto call = between(name, "MPIR_CVAR_", "_INTRA_ALGORITHM");
  setting.comms = "intra";
  if (!call) {
    call = between(name, "MPIR_CVAR_", "_INTER_ALGORITHM");
    setting.comms = "inter";
  }
  if (!call) return std::nullopt;
  const bool neighbours = call->find("NEIGHBOR_") != std::string_view::npos;
  if (neighbours && setting.comms == "inter") return std::nullopt;  // there are no such communicators
  if (neighbours) setting.comms = "";
  const bool nonblocking = call->starts_with('I');
  setting.families = lower(nonblocking ? call->substr(1) : *call);
  setting.variants = nonblocking ? kNonblocking : "blocking";
  // Otherwise the device may have an algorithm of its own, which comes first.
  if (has_device) setting.environment.emplace_back(kDeviceCollectives, "none");
  return setting;
}

// "OMPI_MCA_coll_tuned_bcast_algorithm", "OMPI_MCA_coll_libnbc_ibcast_algorithm"
std::optional<SweepSetting> of_open_mpi(const std::string& name, const std::string& value) {
  SweepSetting setting;
  setting.environment = {{name, value}};
  if (const auto call = between(name, "OMPI_MCA_coll_tuned_", "_algorithm")) {
    setting.environment.emplace_back("OMPI_MCA_coll_tuned_use_dynamic_rules", "1");
    setting.families = *call;
    setting.variants = "blocking";
    return setting;
  }
  if (const auto call = between(name, "OMPI_MCA_coll_libnbc_i", "_algorithm")) {
    setting.families = *call;
    setting.variants = kNonblocking;
    return setting;
  }
  return std::nullopt;
}

// Open MPI's components; one that cannot be used here says so when MPI is initialised.
void add_component(const std::string& framework, const std::string& component, std::vector<SweepSetting>& out) {
  SweepSetting setting;
  setting.is_broad = true;
  if (framework == "coll" && component != "self" && component != "inter" && component != "libnbc") {
    setting.environment = {{"OMPI_MCA_coll_" + component + "_priority", "100"}};
    setting.families = "collectives";
  } else if (framework == "osc") {
    setting.environment = {{"OMPI_MCA_osc", "^" + component}};
    setting.families = "windows";
  } else if (framework == "pml") {
    setting.environment = {{"OMPI_MCA_pml", component}};
    setting.families = "messages,packing";
  } else {
    return;
  }
  out.push_back(setting);
  if (framework != "pml" || component != "ob1") return;
  for (const char* const transport : {"self,vader", "self,sm", "self,tcp"}) {
    out.push_back(setting);
    out.back().environment.emplace_back("OMPI_MCA_btl", transport);
  }
}

}  // namespace

std::string SweepSetting::name() const {
  std::string text;
  for (const auto& [variable, value] : environment) text += (text.empty() ? "" : " ") + variable + '=' + value;
  return text.empty() ? "default" : text;
}

std::vector<SweepSetting> sweep_settings(std::string_view parameters) {
  std::vector<SweepSetting> settings(1);
  settings.front().is_broad = true;
  const bool has_device = parameters.find(kDeviceCollectives) != std::string_view::npos;
  for (const std::string& line : split(parameters, '\n')) {
    const auto fields = split(line, '\t');
    if (fields.size() < 3) continue;
    const std::string &name = fields[0], &value = fields[1];
    if (name == "component") {
      add_component(value, fields[2], settings);
    } else if (auto setting = name.starts_with("MPIR_") ? of_mpich(name, value, has_device) : of_open_mpi(name, value)) {
      settings.push_back(std::move(*setting));
    } else if (name == kDeviceCollectives || name == "MPIR_CVAR_NOLOCAL") {
      SweepSetting broad;
      broad.environment = {{name, value}};
      if (name == kDeviceCollectives) broad.families = "collectives";
      broad.is_broad = true;
      settings.push_back(std::move(broad));
    }
  }
  std::stable_sort(settings.begin() + 1, settings.end(),
                   [](const SweepSetting& a, const SweepSetting& b) { return a.is_broad && !b.is_broad; });
  return settings;
}

}  // namespace reprise::cli
