// SPDX-License-Identifier: Apache-2.0
//
// Nodes, and what surrounds pods: quotas, priorities, volumes.
#pragma once

#include "engine/kubernetes/json_fields.h"

namespace weir::engine::kubernetes {

observe::Node read_node(const JsonFields& object);
observe::Quota read_quota(const JsonFields& object);
observe::PriorityClass read_priority_class(const JsonFields& object);
observe::NamespaceObject read_namespace(const JsonFields& object);
observe::VolumeClaim read_volume_claim(const JsonFields& object);
observe::Volume read_volume(const JsonFields& object);
observe::StorageClass read_storage_class(const JsonFields& object);

}  // namespace weir::engine::kubernetes
