// SPDX-License-Identifier: Apache-2.0
//
// Copies committed pages from the write-ahead log into the database file on a thread of its own, so
// that no commit waits for it. The last bit, without which the log could never start over, is left
// to the writer: it is short, because the thread has done nearly all.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "control/sqlite.h"
#include "control/store.h"

namespace weir::control {

// A checkpoint that waits for nobody. What goes wrong shows at the next commit.
void checkpoint_what_is_possible(SqliteConnection& connection);

class StoreCheckpointer {
 public:
  static Result<std::unique_ptr<StoreCheckpointer>> start(const StoreOptions& options);
  explicit StoreCheckpointer(SqliteConnection connection);
  StoreCheckpointer(const StoreCheckpointer&) = delete;
  StoreCheckpointer& operator=(const StoreCheckpointer&) = delete;
  ~StoreCheckpointer();

  // The log has grown: begins unless it is at it. Never waits.
  void request();
  // True once after each run: now the writer may finish.
  bool take_done();

 private:
  void run();

  SqliteConnection connection_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_requested_ = false;
  bool is_done_ = false;
  bool stops_ = false;
  std::thread thread_;  // last: it uses the rest
};

}  // namespace weir::control
