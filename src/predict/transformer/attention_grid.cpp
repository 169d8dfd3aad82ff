// SPDX-License-Identifier: Apache-2.0
#include "predict/transformer/attention_grid.h"

#include <algorithm>

namespace weir::predict {

AttentionVolume attention_volume(const TransformerModel& model, std::int64_t sequence,
                                 const AttentionGrid& grid) {
  const std::int64_t tokens = sequence / grid.gpus();
  AttentionVolume volume;
  volume.query_bytes = 2 * tokens * model.query_width();
  volume.kv_bytes = 4 * tokens * model.head_dim * std::max<std::int64_t>(model.kv_heads, grid.head);
  volume.all_to_all_sent = (2 * volume.query_bytes + volume.kv_bytes) / grid.head * (grid.head - 1);
  volume.ring_sent = (grid.context - 1) * volume.kv_bytes;
  const GradientSends gradients = gradient_sends(grid);
  volume.ring_sent_backward =
      volume.ring_sent + (gradients.inner + gradients.outer) * volume.kv_bytes;
  volume.flops_per_step = 2.0 * static_cast<double>(sequence) * static_cast<double>(tokens) *
                          static_cast<double>(model.query_width()) / grid.context;
  return volume;
}

bool is_possible(const TransformerModel& model, std::int64_t sequence, const AttentionGrid& grid) {
  if (grid.head < 1 || grid.context < 1 || grid.window < 1) return false;
  if (grid.context % grid.window != 0) return false;
  if (model.heads % grid.head != 0) return false;
  if (grid.head <= model.kv_heads ? model.kv_heads % grid.head != 0
                                  : grid.head % model.kv_heads != 0) {
    return false;
  }
  if (grid.context == 1) return sequence % grid.head == 0;
  if (grid.head > 1 && grid.head % 2 != 0) return false;
  return sequence % (2LL * grid.gpus()) == 0;
}

std::pair<int, int> token_chunks(const AttentionGrid& grid, int h, int c) {
  if (grid.context == 1) return {2 * h, 2 * h + 1};
  if (grid.head == 1) return {c, 2 * grid.context - 1 - c};
  const int low = 2 * h + c * grid.head;
  const int high = 2 * grid.gpus() - 2 - 2 * (grid.head - 1 - h) - c * grid.head;
  const int first = h < grid.head / 2 ? low : high;
  return {first, first + 1};
}

double ring_seconds(const AttentionGrid& grid, double step, double inner, double outer) {
  const double window = (grid.window - 1) * std::max(step, inner) + step;
  const int before_last = grid.windows() - 1;
  return before_last * std::max(window, outer) + window;
}

GradientSends gradient_sends(const AttentionGrid& grid) {
  if (grid.context == 1) return {};
  return {grid.window * grid.windows(), grid.windows()};
}

double ring_backward_seconds(const AttentionGrid& grid, double step, const RingHops& hops) {
  if (grid.context == 1) return step;
  const double computing = grid.window * step;  // of a window
  const double inside = grid.window == 1 ? 0 : std::max(0.0, hops.inner_both - step);
  double waiting = 0;
  for (int j = 0; j < grid.windows(); ++j) {
    // The first step waits for the gradients of the window before, the last one sends no block on.
    const double first = j == 0 ? inside : std::max(inside, hops.way_home() - step);
    const double rest = grid.window == 1 ? 0 : (grid.window - 2) * inside;
    const bool is_last = j + 1 == grid.windows();
    const double between = is_last ? 0 : j == 0 ? hops.outer : hops.outer_both;
    waiting += std::max(first + rest, between - computing);
  }
  // Waiting apart, so that rings that hide everything take the same time to the last bit.
  return grid.context * step + waiting + hops.way_home();
}

double inner_hop_seconds(const Fabric& fabric, const AttentionGrid& grid, double bytes) {
  if (grid.window == 1) return 0;
  const RankGroup ring{grid.window, grid.context_group().stride};
  if (placed(fabric, ring).nodes == 1) return link_transfer_seconds(fabric, bytes);
  // Of each ring one rank of the node hands on to the next node, and the ring waits for it.
  const int senders = std::min(fabric.gpus_per_node, ring.stride);
  return std::max(link_transfer_seconds(fabric, bytes),
                  network_transfer_seconds(fabric, bytes, senders));
}

double outer_hop_seconds(const Fabric& fabric, const AttentionGrid& grid, double bytes) {
  if (grid.windows() == 1) return 0;
  const RankGroup ring = grid.context_group();
  if (placed(fabric, ring).nodes == 1) return link_transfer_seconds(fabric, bytes);
  // Ranks a window apart; all of the node that have their next one elsewhere send at once.
  const int distance = std::min(fabric.gpus_per_node, ring.stride * grid.window);
  return std::max(link_transfer_seconds(fabric, bytes),
                  network_transfer_seconds(fabric, bytes, distance));
}

}  // namespace weir::predict
