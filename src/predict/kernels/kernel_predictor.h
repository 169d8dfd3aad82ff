// SPDX-License-Identifier: Apache-2.0
//
// How long a call takes on a device that a model was fitted for.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "domain/kernel_call.h"
#include "domain/kernel_model.h"
#include "predict/kernels/kernel_class.h"
#include "predict/kernels/kernel_features.h"
#include "predict/kernels/launch_dispatch.h"

namespace weir::predict {

struct KernelPrediction {
  double seconds = 0;
  KernelClass kind = KernelClass::dram_bound;
  double kernels = 1;         // launched
  std::string_view kernel{};  // kind of the main one; empty when nothing alike was measured
  double blocks = 1;          // of its work: fewer than there are SMs leave some without
  // More or less work than the fit has seen, a size beyond all that were measured of the operator, a shape far from the
  // nearest measured one, or only the roofline.
  bool is_extrapolated = false;
  double distance =
      -1;  // to that shape, in doublings and alignments (launch_dispatch.h); -1: not looked for
};

// Keys of the groups that a call may belong to, the most special first. One is fitted when it has enough samples.
std::vector<std::string> group_keys(const KernelCall& call, const LaunchSketch& sketch);
// Which trees correct it.
std::string correction_key(const KernelCall& call);

// Which trees know it by its shape alone.
std::string shape_key(const KernelCall& call);

// Seconds by the fitted columns alone.
double group_seconds(const KernelGroup& group, const KernelFeatures& features);
// The fitted roofline: the larger of arithmetic and traffic.
double roofline_seconds(const KernelModel& model, const KernelCall& call);

// Farther from the nearest measured shape than this is extrapolated: docs/models/kernels.md has the errors by distance.
inline constexpr double kFarShape = 2;

class KernelPredictor {
 public:
  // Requires: `model` outlives this.
  explicit KernelPredictor(const KernelModel& model);

  KernelPrediction with_launch(const KernelCall& call, const KernelLaunch& launch) const;
  // The launch is predicted too.
  KernelPrediction predict(const KernelCall& call) const;

  const KernelModel& model() const { return model_; }

  // What the trees see and correct.
  struct Uncorrected {
    double seconds = 0;
    std::array<float, kTreeFeatures> features{};
    double group_error = 1;  // of the group's own fit; 1: no group
    KernelPrediction prediction;
  };
  Uncorrected uncorrected(const KernelCall& call, const KernelLaunch& launch,
                          bool skip_same = false) const;
  // Nothing launched alike is known: by the roofline. `skip_same` leaves out the call's own shape.
  Uncorrected uncorrected(const KernelCall& call, bool skip_same = false) const;
  // By the roofline alone, as if tiles were all of one usual size: what trees on the shape correct.
  Uncorrected from_shape(const KernelCall& call) const;

 private:
  const KernelGroup* group_of(const KernelCall& call, const LaunchSketch& sketch) const;
  void look_how_far(const KernelCall& call, const NearLaunches& found,
                    KernelPrediction& prediction) const;
  KernelPrediction bounded(const KernelCall& call, KernelPrediction prediction) const;
  void blend_shape(const KernelCall& call, double share, KernelPrediction& prediction) const;
  Uncorrected from_sketch(const KernelCall& call, const LaunchSketch& sketch,
                          const LaunchSize& size, const KernelGroup* group,
                          bool with_features = true) const;

  const KernelModel& model_;
  std::map<std::string, const KernelGroup*, std::less<>> groups_;
  std::unordered_map<const DispatchEntry*, const KernelGroup*> group_of_entry_;
  LaunchDispatch dispatch_;
  std::map<std::string, std::vector<char>, std::less<>>
      same_algorithm_;  // by algorithm: which sketches have it
};

}  // namespace weir::predict
