// SPDX-License-Identifier: Apache-2.0
//
// One file of the page, as it was built: its bytes, plain and compressed, live as long as the program.
#pragma once

#include <string_view>

namespace weir::dashboard {

struct PageFile {
  std::string_view path;        // "/assets/index-Bq3x.js"
  std::string_view media_type;  // "text/javascript; charset=utf-8"
  std::string_view tag;         // of the plain bytes; equal bytes have equal ones
  std::string_view plain;
  std::string_view gzip;  // empty: it would not be smaller
};

}  // namespace weir::dashboard
