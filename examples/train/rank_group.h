// SPDX-License-Identifier: Apache-2.0
//
// The ranks of a job, connected by Gloo over loopback. They find each other through files: a folder
// that is new for each start, because the addresses in it belong to processes of that start.
// Gloo throws when a rank is gone or does not answer in 30 s.
#pragma once

#include <filesystem>
#include <memory>
#include <span>

#include "worker/batch_plan.h"

namespace gloo::rendezvous {
class Context;
}

namespace weir::example {

class RankGroup {
 public:
  // Waits for all ranks. Alone it needs neither the folder nor Gloo.
  RankGroup(worker::Place place, const std::filesystem::path& meeting_folder);

  // The sum over all ranks, the same bits on all of them. Added in the order of the ranks.
  void add_up(std::span<double> numbers) const;
  int largest(int number) const;
  void wait_for_all() const { largest(0); }

 private:
  std::shared_ptr<gloo::rendezvous::Context> context_;  // none: alone
};

}  // namespace weir::example
