// The rank that the launcher says this process will have, before MPI_Init can be asked.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace reprise::engine {

// In a solo replay there is no launcher, and Reprise says it. Slurm's variable comes last: it is also there in ranks that mpirun has started inside a Slurm job, and means another
// thing then.
inline std::optional<std::uint32_t> launcher_rank() {
  for (const char* name : {"REPRISE_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    const char* const text = std::getenv(name);
    if (!text) continue;
    const char* const end = text + std::strlen(text);
    std::uint32_t rank = 0;
    if (const auto parsed = std::from_chars(text, end, rank); parsed.ec == std::errc() && parsed.ptr == end)
      return rank;
  }
  return std::nullopt;
}

}  // namespace reprise::engine
