// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/known_networks.h"

namespace weir::predict {
namespace {

constexpr std::int64_t kImageSide = 224;
constexpr std::int64_t kImageClasses = 1000;

// Images in channels-last layout, from layer to layer.
class ImageNetwork {
 public:
  explicit ImageNetwork(std::int64_t batch) : batch_{batch} {
    ops_.forward_rows("cast_down", "bf16", pixels(), channels_);
  }

  std::int64_t channels() const { return channels_; }
  std::int64_t side() const { return side_; }
  void go_to(std::int64_t channels, std::int64_t side) {
    channels_ = channels;
    side_ = side;
  }

  // Square, padded so that only the stride makes it smaller.
  void conv(std::int64_t out, std::int64_t ksize, std::int64_t stride, bool bias) {
    const std::int64_t pad = ksize / 2;
    const KernelSizes sizes = {batch_, channels_, out, ksize, side_, stride, pad};
    const std::int64_t weights = channels_ * ksize * ksize;
    ops_.forward_rows("cast_down", "bf16", out, weights);
    ops_.call(TrainingPhase::forward, {KernelFamily::conv, "conv", "bf16", "fwd/nhwc", sizes});
    ops_.call(TrainingPhase::backward, {KernelFamily::conv, "conv", "bf16", "wgrad/nhwc", sizes});
    if (!is_first_)
      ops_.call(TrainingPhase::backward, {KernelFamily::conv, "conv", "bf16", "dgrad/nhwc", sizes});
    is_first_ = false;
    ops_.backward_rows("cast_up", "bf16", out, weights);
    channels_ = out;
    side_ = (side_ + 2 * pad - ksize) / stride + 1;
    ops_.parameters(out * weights, 1);
    if (!bias) return;
    ops_.forward_rows("cast_down", "bf16", 1, out);
    ops_.forward_rows("mul_row", "bf16", pixels(), channels_);  // adds the bias: as much traffic
    ops_.backward_rows("sum_rows", "bf16", pixels(), channels_);
    ops_.backward_rows("cast_up", "bf16", 1, out);
    ops_.parameters(out, 1);
  }

  void batch_norm() {
    const KernelSizes sizes = {batch_, channels_, side_};
    ops_.forward_rows("fill", "fp32", 1, 64);  // counts its batches
    ops_.call(TrainingPhase::forward, {KernelFamily::image, "bn", "bf16", "fwd/nhwc", sizes});
    ops_.call(TrainingPhase::backward, {KernelFamily::image, "bn", "bf16", "bwd/nhwc", sizes});
    ops_.parameters(2 * channels_, 2);
  }

  void relu() {
    ops_.forward_rows("relu_inplace", "bf16", pixels(), channels_);
    ops_.backward_rows("relu_bwd", "bf16", pixels(), channels_);
  }

  void max_pool(std::int64_t ksize, std::int64_t stride, std::int64_t pad) {
    const KernelSizes sizes = {batch_, channels_, side_, ksize, stride, pad};
    ops_.call(TrainingPhase::forward, {KernelFamily::image, "maxpool", "bf16", "fwd/nhwc", sizes});
    ops_.call(TrainingPhase::backward, {KernelFamily::image, "maxpool", "bf16", "bwd/nhwc", sizes});
    side_ = (side_ + 2 * pad - ksize) / stride + 1;
  }

  void global_average() {
    const KernelSizes sizes = {batch_, channels_, side_};
    ops_.call(TrainingPhase::forward, {KernelFamily::image, "avgpool", "bf16", "fwd/nhwc", sizes});
    ops_.call(TrainingPhase::backward, {KernelFamily::image, "avgpool", "bf16", "bwd/nhwc", sizes});
    side_ = 1;
  }

  // A branch comes back: added forward; backward, gradients of both meet at its beginning.
  void add_branch(std::int64_t channels_before, std::int64_t side_before) {
    ops_.forward_rows("add", "bf16", pixels(), channels_);
    ops_.backward_rows("add_inplace", "bf16", batch_ * side_before * side_before, channels_before);
  }

  void linear(std::int64_t in, std::int64_t out) {
    ops_.linear({.rows = batch_, .in = in, .out = out, .casts_input = false});
  }
  void linear_relu_dropout(std::int64_t in, std::int64_t out) {
    linear(in, out);
    ops_.forward_rows("relu_inplace", "bf16", batch_, out);
    ops_.forward_rows("dropout", "bf16", batch_, out);
    ops_.backward_rows("dropout_bwd", "bf16", batch_, out);
    ops_.backward_rows("relu_bwd", "bf16", batch_, out);
  }

  TrainingOps finish() {
    ops_.cross_entropy(batch_, kImageClasses);
    return ops_.finish();
  }

 private:
  std::int64_t pixels() const { return batch_ * side_ * side_; }

  TrainingOpsBuilder ops_;
  std::int64_t batch_;
  std::int64_t channels_ = 3;
  std::int64_t side_ = kImageSide;
  bool is_first_ = true;  // images need no gradient
};

void residual(ImageNetwork& net, std::int64_t width, std::int64_t stride, bool bottleneck) {
  const std::int64_t channels = net.channels();
  const std::int64_t side = net.side();
  const std::int64_t out = bottleneck ? width * 4 : width;
  net.conv(width, bottleneck ? 1 : 3, bottleneck ? 1 : stride, false);
  net.batch_norm();
  net.relu();
  net.conv(bottleneck ? width : out, 3, bottleneck ? stride : 1, false);
  net.batch_norm();
  if (bottleneck) {
    net.relu();
    net.conv(out, 1, 1, false);
    net.batch_norm();
  }
  if (stride > 1 || channels != out) {
    net.go_to(channels, side);
    net.conv(out, 1, stride, false);
    net.batch_norm();
  }
  net.add_branch(channels, side);
  net.relu();
}

}  // namespace

TrainingOps resnet_ops(const ResNetShape& shape, std::int64_t batch) {
  ImageNetwork net{batch};
  net.conv(64, 7, 2, false);
  net.batch_norm();
  net.relu();
  net.max_pool(3, 2, 1);
  for (std::size_t stage = 0; stage < shape.blocks.size(); ++stage)
    for (int block = 0; block < shape.blocks[stage]; ++block)
      residual(net, std::int64_t{64} << stage, stage > 0 && block == 0 ? 2 : 1, shape.bottleneck);
  net.global_average();
  net.linear(net.channels(), kImageClasses);
  return net.finish();
}

TrainingOps vgg_ops(const std::vector<int>& widths, std::int64_t batch) {
  ImageNetwork net{batch};
  for (const int width : widths) {
    if (width == 0) {
      net.max_pool(2, 2, 0);
      continue;
    }
    net.conv(width, 3, 1, true);
    net.relu();
  }
  net.linear_relu_dropout(net.channels() * net.side() * net.side(), 4096);
  net.linear_relu_dropout(4096, 4096);
  net.linear(4096, kImageClasses);
  return net.finish();
}

}  // namespace weir::predict
