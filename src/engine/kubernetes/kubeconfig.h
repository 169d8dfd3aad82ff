// SPDX-License-Identifier: Apache-2.0
//
// Which API server is meant, as kubectl finds it: kubeconfig files, merged (of two entries with one name the first
// counts), or the service account of the pod we run in. A file's mistakes are all told, with their lines; what
// belongs to contexts that are not used is not looked at.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "domain/result.h"
#include "engine/kubernetes/api_server.h"

namespace weir::engine::kubernetes {

struct KubeconfigChoice {
  std::vector<std::filesystem::path> files;
  bool may_be_absent = false;  // files of a list that are not there are left out
  std::string context;         // empty: the current context
};
Result<ApiServer> read_kubeconfig(const KubeconfigChoice& choice, Time now);

// The service account of a pod: its token and authority are in `folder`.
inline const std::filesystem::path kServiceAccountFolder =
    "/var/run/secrets/kubernetes.io/serviceaccount";
Result<ApiServer> in_cluster_server(std::string_view host, std::string_view port,
                                    const std::filesystem::path& folder = kServiceAccountFolder);

struct ServerSearch {
  std::string kubeconfig;  // of the command line; empty: none
  std::string context;
  std::function<std::optional<std::string>(const char* name)>
      environment;  // none: that of the process
  std::filesystem::path service_account = kServiceAccountFolder;
};
// The file of the command line, else KUBECONFIG, else ~/.kube/config, else the pod's service account.
Result<ApiServer> find_api_server(const ServerSearch& search, Time now);

}  // namespace weir::engine::kubernetes
