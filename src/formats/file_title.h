// SPDX-License-Identifier: Apache-2.0
//
// The short name a report uses for an input file.
#pragma once

#include <string>
#include <string_view>

namespace weir::formats {

// Without folder, .gz, .csv/.yaml/.yml and the openb prefixes:
// "/data/openb_pod_list_default.csv.gz" is "default".
std::string file_title(std::string_view path);

// True for "lab.yaml", "lab.yml" and both with .gz.
bool is_yaml_name(std::string_view path);
// True for "nodes.csv" and "nodes.csv.gz".
bool is_csv_name(std::string_view path);

// What stands after the last underscore, in upper case: "throughput_t4" is of the T4. Empty where
// there is none or it cannot be a model's name.
std::string gpu_after_underscore(std::string_view title);

}  // namespace weir::formats
