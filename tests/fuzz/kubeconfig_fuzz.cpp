// SPDX-License-Identifier: Apache-2.0
//
// A kubeconfig that is not trusted: a server with somebody to be there, or mistakes that say what to write.
#include <sys/mman.h>
#include <unistd.h>

#include "engine/kubernetes/exec_plugin.h"
#include "engine/kubernetes/kubeconfig.h"
#include "round_trip_check.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  using namespace weir::engine::kubernetes;
  static_cast<void>(read_exec_credential("fuzz", fuzz::text_of(data, size)));
  const int file = ::memfd_create("fuzz", MFD_CLOEXEC);
  fuzz::check(file >= 0, "there is a file");
  fuzz::check(::write(file, data, size) == static_cast<ssize_t>(size), "it holds the input");
  const auto server =
      read_kubeconfig({{"/proc/self/fd/" + std::to_string(file)}, false, ""}, Time{});
  ::close(file);
  fuzz::check_refusal(server);
  if (server) {
    fuzz::check(server->credentials != nullptr, "there is somebody to be");
    fuzz::check(server->url.starts_with("http"), "there is somewhere to go");
  }
  return 0;
}
