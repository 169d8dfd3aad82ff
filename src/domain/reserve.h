// SPDX-License-Identifier: Apache-2.0
//
// GPUs of each pool that are promised to nobody, for the day when nodes fail or jobs run slow: plans
// that the world breaks may use them. Meanwhile they are lent.
#pragma once

#include <cstdint>

namespace weir {

struct Reserve {
  std::int32_t gpus = 0;
  std::int32_t permille = 0;  // of the pool's GPUs, rounded up; added to the others
  friend bool operator==(const Reserve&, const Reserve&) = default;
};

}  // namespace weir
