// SPDX-License-Identifier: Apache-2.0
//
// Times as people read them, to the second. A trace counts from its own start: 26h is "1d2h". Times
// after 2000 are dates: "2026-11-15T09:00:00Z".
#pragma once

#include <string>

#include "domain/time.h"

namespace weir::report {

std::string clock_text(Time time);

// "2h5m", "40s", "0s"; the sign is left out. At most two units from an hour on: nobody reads the
// seconds of a day.
std::string length_text(Duration length);

}  // namespace weir::report
