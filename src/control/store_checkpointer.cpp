// SPDX-License-Identifier: Apache-2.0
#include "control/store_checkpointer.h"

#include <sqlite3.h>

#include <utility>

namespace weir::control {

void checkpoint_what_is_possible(SqliteConnection& connection) {
  sqlite3_wal_checkpoint_v2(connection.handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr,
                            nullptr);
}

Result<std::unique_ptr<StoreCheckpointer>> StoreCheckpointer::start(const StoreOptions& options) {
  auto connection = SqliteConnection::open(options.file, options.vfs, Access::read_write);
  if (!connection) return tl::unexpected{std::move(connection).error()};
  if (auto set = connection->execute("PRAGMA synchronous = FULL", "set up"); !set)
    return tl::unexpected{std::move(set).error()};
  return std::make_unique<StoreCheckpointer>(std::move(*connection));
}

StoreCheckpointer::StoreCheckpointer(SqliteConnection connection)
    : connection_{std::move(connection)}, thread_{[this] { run(); }} {}

StoreCheckpointer::~StoreCheckpointer() {
  {
    const std::lock_guard lock{mutex_};
    stops_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void StoreCheckpointer::request() {
  {
    const std::lock_guard lock{mutex_};
    if (is_requested_ || is_done_) return;
    is_requested_ = true;
  }
  wake_.notify_one();
}

bool StoreCheckpointer::take_done() {
  const std::lock_guard lock{mutex_};
  return std::exchange(is_done_, false);
}

void StoreCheckpointer::run() {
  std::unique_lock lock{mutex_};
  while (true) {
    wake_.wait(lock, [this] { return stops_ || is_requested_; });
    if (stops_) return;
    lock.unlock();
    checkpoint_what_is_possible(connection_);
    lock.lock();
    is_requested_ = false;
    is_done_ = true;
  }
}

}  // namespace weir::control
