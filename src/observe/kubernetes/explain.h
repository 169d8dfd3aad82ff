// SPDX-License-Identifier: Apache-2.0
//
// Why a workload waits, as an operator would say it. What holds it before any node is looked at comes first (a gate, a
// scheduler that is not there, suspension, quota, ...). Then the nodes that could hold it when empty decide: nodes
// without the devices it asks for do not hide the reason.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "observe/kubernetes/cluster_model.h"
#include "observe/kubernetes/explanation.h"

namespace weir::observe {

class Explainer {
 public:
  explicit Explainer(const ClusterObjects& objects);
  ~Explainer();
  // `with_changes`: also search for the smallest changes, which takes longer than the rest.
  Explanation explain(const PendingWorkload& workload, bool with_changes = true);
  const ClusterModel& model() const { return model_; }

 private:
  struct Answer;
  const Answer& answer_for_shape(const PendingWorkload& workload,
                                 const std::vector<PodPointer>& pods);

  const ClusterObjects& objects_;
  ClusterModel model_;
  std::set<std::string, std::less<>> schedulers_;
  std::map<std::string, std::shared_ptr<const Answer>> answers_;  // by shape: many pods are alike
};

}  // namespace weir::observe
