// SPDX-License-Identifier: Apache-2.0
#include "predict/kernels/kernel_work.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace weir::predict {
namespace {

// Bytes that a row operator moves per element: so many numbers of its format, and so many bytes besides.
struct ElementTraffic {
  double numbers = 2;
  double bytes = 0;
};

constexpr double kEmbeddingRows = 32000;  // of the measured tables

ElementTraffic traffic_of(std::string_view op) {
  static const std::map<std::string_view, ElementTraffic> kTraffic = {{"add", {3, 0}},
                                                                      {"mul", {3, 0}},
                                                                      {"add_inplace", {3, 0}},
                                                                      {"add_heads", {3, 0}},
                                                                      {"gelu_bwd", {3, 0}},
                                                                      {"silu_bwd", {3, 0}},
                                                                      {"relu_bwd", {3, 0}},
                                                                      {"ln_bwd", {3, 0}},
                                                                      {"rmsnorm_bwd", {3, 0}},
                                                                      {"softmax_bwd", {3, 0}},
                                                                      {"log_softmax_bwd", {3, 0}},
                                                                      {"fill", {1, 0}},
                                                                      {"sum_rows", {1, 0}},
                                                                      {"mean_cols", {1, 0}},
                                                                      {"nll_bwd", {1, 0}},
                                                                      {"dropout", {2, 1}},
                                                                      {"dropout_bwd", {2, 1}},
                                                                      {"add_mixed", {0, 10}},
                                                                      {"cast_up", {0, 6}},
                                                                      {"cast_down", {0, 6}},
                                                                      {"adamw", {0, 28}}};
  const auto at = kTraffic.find(op);
  return at == kTraffic.end() ? ElementTraffic{} : at->second;
}

double call_size(const KernelCall& call, std::size_t index) {
  return static_cast<double>(call.sizes[index]);
}

double output_side(double insize, double ksize, double stride, double pad) {
  const double span = insize + 2 * pad - ksize;
  return stride > 0 && span >= 0 ? static_cast<double>(static_cast<std::int64_t>(span / stride)) + 1
                                 : 1;
}

KernelWork gemm_work(const KernelCall& call) {
  const double b = call_size(call, gemm_size::b), m = call_size(call, gemm_size::m);
  const double n = call_size(call, gemm_size::n), k = call_size(call, gemm_size::k);
  const double s = element_bytes(call.dtype);
  return {2 * b * m * n * k, s * b * (m * n + n * k + m * k), 0, m, k, n, b};
}

KernelWork conv_work(const KernelCall& call) {
  const double b = call_size(call, conv_size::b), cin = call_size(call, conv_size::cin);
  const double cout = call_size(call, conv_size::cout), k = call_size(call, conv_size::ksize);
  const double in = call_size(call, conv_size::insize), s = element_bytes(call.dtype);
  const double out =
      output_side(in, k, call_size(call, conv_size::stride), call_size(call, conv_size::pad));
  KernelWork work;
  work.flops = 2 * b * cout * out * out * cin * k * k;
  work.bytes = s * b * (cin * in * in + cout * out * out);
  work.weight_bytes = s * cin * cout * k * k;
  const std::string pass = pass_of(call);
  if (pass == "dgrad") {
    work.rows = b * in * in;
    work.columns = cin;
    work.depth = cout * k * k;
    work.taps = k * k;
  } else if (pass == "wgrad") {
    work.rows = cout;
    work.columns = cin * k * k;
    work.depth = b * out * out;
  } else {
    work.rows = b * out * out;
    work.columns = cout;
    work.depth = cin * k * k;
    work.taps = k * k;
  }
  return work;
}

// Query-key pairs that are looked at; a causal mask starts at the upper left corner.
double attention_pairs(double sq, double sk, bool causal) {
  if (!causal) return sq * sk;
  const double corner = std::min(sq, sk);
  return corner * (corner + 1) / 2 + (sq - corner) * sk;
}

KernelWork attention_work(const KernelCall& call) {
  const double b = call_size(call, attention_size::b),
               heads = call_size(call, attention_size::heads);
  const double kv_heads = call_size(call, attention_size::kv_heads),
               sq = call_size(call, attention_size::sq);
  const double sk = call_size(call, attention_size::sk), d = call_size(call, attention_size::d);
  const bool is_backward = pass_of(call) == "bwd";
  KernelWork work;
  const double pairs = attention_pairs(sq, sk, call.sizes[attention_size::causal] != 0);
  work.flops = 4 * b * heads * d * pairs;
  work.filled = pairs / (sq * sk);
  work.bytes =
      element_bytes(call.dtype) * b * d * 2 * (heads * sq + kv_heads * sk) + 4 * b * heads * sq;
  if (is_backward) {
    work.flops *= 2.5;
    work.bytes *= 2;
  }
  // What backends without a fused kernel write and read: every score.
  work.weight_bytes = element_bytes(call.dtype) * b * heads * sq * sk;
  // Forward a block has some queries and goes over the keys, backward the other way.
  work.rows = is_backward ? sk : sq;
  work.columns = d;
  work.depth = is_backward ? sq : sk;
  work.batch = b * heads;
  return work;
}

KernelWork rows_work(const KernelCall& call) {
  const double b = call_size(call, rows_size::b), h = call_size(call, rows_size::h);
  const ElementTraffic traffic = traffic_of(call.op);
  KernelWork work;
  work.flops = b * h;
  work.bytes = b * h * (traffic.numbers * element_bytes(call.dtype) + traffic.bytes);
  // The gradient of a whole table is cleared first.
  if (call.op == "embedding_bwd")
    work.weight_bytes = kEmbeddingRows * h * element_bytes(call.dtype);
  work.rows = b;
  work.columns = h;
  return work;
}

KernelWork image_work(const KernelCall& call) {
  const double b = call_size(call, image_size::b), c = call_size(call, image_size::c);
  const double in = call_size(call, image_size::insize), s = element_bytes(call.dtype);
  const bool is_backward = pass_of(call) == "bwd";
  const double elements = b * c * in * in;
  KernelWork work;
  work.flops = elements;
  work.bytes = elements * s * (call.op == "bn" ? (is_backward ? 3 : 2) : 1);
  if (call.op == "maxpool") {
    const double out =
        output_side(in, call_size(call, image_size::ksize), call_size(call, image_size::stride),
                    call_size(call, image_size::pad));
    work.weight_bytes = b * c * out * out * (s + 8);
  }
  work.rows = b * in * in;
  work.columns = c;
  return work;
}

}  // namespace

double element_bytes(const std::string& dtype) {
  return dtype == "bf16" ? 2 : 4;
}

std::string pass_of(const KernelCall& call) {
  const std::string first = call.variant.substr(0, call.variant.find('/'));
  for (const std::string_view pass : {"fwd", "bwd", "dgrad", "wgrad"}) {
    if (first == pass) return first;
  }
  return {};
}

KernelWork kernel_work(const KernelCall& call) {
  switch (call.family) {
    case KernelFamily::gemm:
      return gemm_work(call);
    case KernelFamily::conv:
      return conv_work(call);
    case KernelFamily::attention:
      return attention_work(call);
    case KernelFamily::image:
      return image_work(call);
    case KernelFamily::rows:
      break;
  }
  return rows_work(call);
}

double limiting_bytes(const KernelCall& call, const KernelWork& work) {
  const bool is_fused = call.family == KernelFamily::attention && !call.variant.ends_with("/math");
  return is_fused ? work.bytes : work.all_bytes();
}

}  // namespace weir::predict
