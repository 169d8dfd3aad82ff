// SPDX-License-Identifier: Apache-2.0
//
// The page this program was built with: ui/, built by Vite, packed by ui/tools/bundle.mjs (docs/adr/0014).
#pragma once

#include <span>

#include "dashboard/page_file.h"

namespace weir::dashboard {

// None when it was built without Node.
std::span<const PageFile> embedded_page();

}  // namespace weir::dashboard
