// SPDX-License-Identifier: Apache-2.0
#include "engine/local/torchrun_environment.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>

#include "engine/local/owned_fd.h"

namespace weir::engine {
namespace {

// A port that is free now. It may be taken before rank 0 does; the job then fails and is restarted.
int find_free_port() {
  const OwnedFd probe{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (!probe || bind(probe.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      getsockname(probe.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return 0;
  return ntohs(address.sin_port);
}

std::string run_id(const SupervisorOrder& order) {
  return "weir-" + std::to_string(order.run.job) + "." + std::to_string(order.run.generation);
}

void set_unless_set(const SupervisorOrder& order, const char* name, const char* value,
                    Variables& variables) {
  const bool is_set = std::getenv(name) != nullptr ||
                      std::any_of(order.environment.begin(), order.environment.end(),
                                  [&](const auto& variable) { return variable.first == name; });
  if (!is_set) variables.emplace_back(name, value);
}

}  // namespace

void add_what_torchrun_sets(const SupervisorOrder& order, Variables& variables) {
  const std::string ranks = std::to_string(order.ranks);
  variables.emplace_back("WORLD_SIZE", ranks);
  variables.emplace_back("LOCAL_WORLD_SIZE", ranks);
  variables.emplace_back("GROUP_RANK", "0");
  variables.emplace_back("GROUP_WORLD_SIZE", "1");
  variables.emplace_back("ROLE_NAME", "default");
  variables.emplace_back("ROLE_WORLD_SIZE", ranks);
  variables.emplace_back("MASTER_ADDR", "127.0.0.1");
  variables.emplace_back("MASTER_PORT", std::to_string(find_free_port()));
  variables.emplace_back("TORCHELASTIC_RUN_ID", run_id(order));
  variables.emplace_back("TORCHELASTIC_USE_AGENT_STORE", "False");
  set_unless_set(order, "TORCH_NCCL_ASYNC_ERROR_HANDLING", "1", variables);
  // A process that was started ahead of time does not know yet how many it will be one of.
  if (order.ranks > 1 || !order.warm_start.empty())
    set_unless_set(order, "OMP_NUM_THREADS", "1", variables);
}

void add_what_torchrun_reads(const SupervisorOrder& order, Variables& variables) {
  variables.emplace_back("PET_NNODES", "1");
  variables.emplace_back("PET_NPROC_PER_NODE", std::to_string(order.gpus.size()));
  variables.emplace_back("PET_RDZV_BACKEND", "c10d");
  variables.emplace_back("PET_RDZV_ENDPOINT", "127.0.0.1:" + std::to_string(find_free_port()));
  variables.emplace_back("PET_RDZV_ID", run_id(order));
  variables.emplace_back("PET_MAX_RESTARTS", "0");
  variables.emplace_back("PET_MONITOR_INTERVAL", "0.2");
}

}  // namespace weir::engine
