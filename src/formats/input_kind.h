// SPDX-License-Identifier: Apache-2.0
//
// Which of the two kinds of text file an input is: CSV or YAML.
#pragma once

#include "domain/result.h"
#include "formats/input_file.h"

namespace weir::formats {

// By its name (.csv, .yaml, .yml, each also with .gz). Another name (a pipe, a file without suffix)
// is judged by its first line: with a comma and no colon it is CSV.
Result<bool> is_csv(InputFile& input);

}  // namespace weir::formats
