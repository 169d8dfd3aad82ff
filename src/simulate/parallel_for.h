// SPDX-License-Identifier: Apache-2.0
//
// Runs independent pieces of work on several threads. Which thread takes which piece is left to
// chance, so a piece must depend on its number alone and write to a place of its own.
#pragma once

#include <cstddef>
#include <functional>

namespace weir::simulate {

// Calls work(0) .. work(count - 1), each once. `threads` 0 means one per core. What a piece throws is thrown
// again here, once all threads have stopped; later pieces are then left out.
void parallel_for(std::size_t count, unsigned threads,
                  const std::function<void(std::size_t)>& work);

}  // namespace weir::simulate
