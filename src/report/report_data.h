// SPDX-License-Identifier: Apache-2.0
//
// What a page carries for programs: the JSON that --json prints, with the version and the recipe of
// the page, and the runs that it shows in detail. The dashboard opens such pages.
//
//   {"runs":[...],"version":"0.1.0","recipe":"weir simulate ...","shown":[...]}
#pragma once

#include <span>
#include <string>

#include "domain/result.h"
#include "report/html_page.h"

namespace weir::report {

// `json` is one object, `shown` are values of its member of that name. Empty when one of them could
// not be written: the page is as good without.
std::string report_data(const Result<std::string>& json, const ReportHeader& header,
                        std::span<const Result<std::string>> shown = {});

// An element of a page that holds the data, and that nothing in the data can end. Empty for none.
std::string data_element(const std::string& data);

}  // namespace weir::report
