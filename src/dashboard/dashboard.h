// SPDX-License-Identifier: Apache-2.0
//
// The dashboard's paths: a page for people that talks to the API with the token its user gives it. Nothing here
// needs the token, and nothing here is secret: the page is the same for everybody.
#pragma once

#include <span>

#include "dashboard/page_file.h"
#include "transport/router.h"

namespace weir::dashboard {

// The page of this program at `/`, at the paths it shows (`/jobs/{job}`, ...), and its files. Without a page, a notice
// that says so.
void add_dashboard(transport::Router& router);

// The same with these files. Requires: they live as long as the router.
void add_dashboard(transport::Router& router, std::span<const PageFile> files);

}  // namespace weir::dashboard
