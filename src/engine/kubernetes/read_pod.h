// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/kubernetes/json_fields.h"

namespace weir::engine::kubernetes {

observe::Pod read_pod(const JsonFields& object);

}  // namespace weir::engine::kubernetes
