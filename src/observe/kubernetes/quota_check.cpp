// SPDX-License-Identifier: Apache-2.0
#include "observe/kubernetes/quota_check.h"

namespace weir::observe {
namespace {

// What one pod takes of a quota's resource. Limits of cpu and memory are not known here.
Quantity taken_by_one(std::string_view resource, const Resources& requests) {
  if (resource == "pods" || resource == "count/pods") return Quantity::of(1);
  if (resource.starts_with("requests.")) resource.remove_prefix(9);
  const auto* amount = requests.find(resource);
  return amount != nullptr ? *amount : Quantity{};
}

void check(const Quota& quota, const PendingWorkload& workload, std::vector<ExceededQuota>& found) {
  for (const auto& [resource, hard] : quota.hard) {
    const auto one = taken_by_one(resource, workload.job->pod_requests);
    const auto* used = quota.used.find(resource);
    const auto now = used != nullptr ? *used : Quantity{};
    if (one.is_zero() || now + one <= hard) continue;
    const Quantity all{one.billionths * workload.missing_pods};
    found.push_back(
        {{"ResourceQuota", quota.meta.ns, quota.meta.name}, resource, hard, now, now + all});
  }
}

}  // namespace

std::vector<ExceededQuota> exceeded_quotas(const PendingWorkload& workload,
                                           const ClusterObjects& objects) {
  std::vector<ExceededQuota> found;
  if (!workload.job || workload.job->kind != WorkloadKind::job || workload.missing_pods == 0)
    return found;
  for (const auto& [name, quota] : objects.quotas) {
    if (quota->meta.ns == workload.name.ns) check(*quota, workload, found);
  }
  return found;
}

}  // namespace weir::observe
