// SPDX-License-Identifier: Apache-2.0
//
// Whether a store is whole: every page, every entry's checksum and its place in the chain, and the
// end that was promised.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "control/sqlite.h"
#include "control/store.h"
#include "control/store_lock.h"
#include "control/store_log.h"

namespace weir::control {

// Where the log begins and ends, as the store says beside it.
struct LogEnds {
  LogPosition before;  // the entry before the first one kept
  std::uint32_t link_before = kFirstLink;
  LogPosition end;
  Chain end_chain;
};
Result<LogEnds> read_log_ends(SqliteConnection& connection);

struct CheckReport {
  LogEnds ends;                      // after what is lost at the end
  std::vector<Damage> lost;          // entries, ascending
  std::vector<Damage> beside_log;    // damage to what is no entry of the log
  std::string structure;             // what SQLite says of the file's pages; empty: nothing
  std::uint64_t snapshot_entry = 0;  // of the latest undamaged snapshot
};

// Reads all of it, on two threads.
Result<CheckReport> check_store(SqliteConnection& connection, const StoreOptions& options,
                                const std::string& store_id,
                                const std::optional<CommittedMark>& mark);

// Nothing when the store may be opened; otherwise what is lost and what can be done about it.
std::optional<Error> refusal(const CheckReport& report, const StoreOptions& options);

}  // namespace weir::control
