// SPDX-License-Identifier: Apache-2.0
#include "rank_group.h"

#include <gloo/allgather.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <system_error>
#include <vector>

namespace weir::example {
namespace {

// One rank's numbers after the other's, in the order of the ranks. A reduction by Gloo sends less, but in
// many more pieces, and for a few thousand numbers every piece costs more than its bytes.
template <class T>
std::vector<T> gather(const std::shared_ptr<gloo::rendezvous::Context>& context,
                      std::span<T> numbers) {
  std::vector<T> all(numbers.size() * static_cast<std::size_t>(context->size));
  gloo::AllgatherOptions options{context};
  options.setInput(numbers.data(), numbers.size());
  options.setOutput(all.data(), all.size());
  gloo::allgather(options);
  return all;
}

}  // namespace

RankGroup::RankGroup(worker::Place place, const std::filesystem::path& meeting_folder) {
  if (place.world_size == 1) return;
  std::filesystem::create_directories(meeting_folder);
  gloo::rendezvous::FileStore store{meeting_folder.string()};
  auto device = gloo::transport::tcp::CreateDevice("127.0.0.1");
  context_ = std::make_shared<gloo::rendezvous::Context>(static_cast<int>(place.rank),
                                                         static_cast<int>(place.world_size));
  context_->connectFullMesh(store, device);
  wait_for_all();
  std::error_code ignored;
  if (place.rank == 0) std::filesystem::remove_all(meeting_folder, ignored);
}

void RankGroup::add_up(std::span<double> numbers) const {
  if (context_ == nullptr) return;
  const std::vector<double> all = gather(context_, numbers);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    double sum = 0;
    for (std::size_t at = i; at < all.size(); at += numbers.size()) sum += all[at];
    numbers[i] = sum;
  }
}

int RankGroup::largest(int number) const {
  if (context_ == nullptr) return number;
  const std::vector<int> all = gather(context_, std::span{&number, 1});
  return *std::max_element(all.begin(), all.end());
}

}  // namespace weir::example
