// SPDX-License-Identifier: Apache-2.0
//
// What a call has to do, whatever kernel does it: floating-point operations, bytes that must move once, and
// the matrix product it amounts to.
#pragma once

#include "domain/kernel_call.h"

namespace weir::predict {

struct KernelWork {
  double flops = 0;
  double bytes = 0;         // of activations: each tensor once
  double weight_bytes = 0;  // of the smaller operand of a convolution
  // As rows x columns outputs, each a reduction over depth, batch times.
  double rows = 1;
  double columns = 1;
  double depth = 1;
  double batch = 1;
  double filled = 1;  // share of rows x depth that is computed: causal attention leaves out half
  double taps = 1;  // the reduction is over so many places of a filter, each padded to whole steps

  double all_bytes() const { return bytes + weight_bytes; }
};

KernelWork kernel_work(const KernelCall& call);

// The bytes that a call moves: only attention that is not fused writes its scores.
double limiting_bytes(const KernelCall& call, const KernelWork& work);

double element_bytes(const std::string& dtype);

// The part of `variant` that says which pass it is: "fwd", "bwd", "dgrad", "wgrad"; empty without one.
std::string pass_of(const KernelCall& call);

}  // namespace weir::predict
