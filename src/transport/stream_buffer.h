// SPDX-License-Identifier: Apache-2.0
//
// Between those who write to a stream, on any thread, and the connection that sends it, on its own.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "transport/event_stream.h"

namespace weir::transport {

class StreamBuffer final : public StreamSink, public std::enable_shared_from_this<StreamBuffer> {
 public:
  // Tells the connection to come and take; false when it is gone. Called without a lock held.
  using Wake = std::function<bool(std::shared_ptr<StreamBuffer>)>;

  StreamBuffer(std::size_t most_bytes, Wake wake)
      : most_bytes_{most_bytes}, wake_{std::move(wake)} {}

  // For writers.
  bool append(std::string_view bytes) override;
  bool has_room() const override;
  bool is_open() const override;
  void call_when_drained(std::function<void()> callback) override;
  void close() override;

  // For the connection.
  struct Batch {
    std::string bytes;
    bool is_last = false;     // nothing follows
    bool is_cut_off = false;  // the reader was too slow: close without an end
  };
  Batch take();
  bool is_cut_off() const;
  // What was taken is sent. Calls who waits for room.
  void sent();
  // Nobody will take any more. Calls who waits for room.
  void abandon();

 private:
  std::function<void()> take_callback_if_due();

  mutable std::mutex mutex_;
  const std::size_t most_bytes_;
  const Wake wake_;
  std::string waiting_;
  std::size_t being_sent_ = 0;
  bool is_closed_ = false;
  bool is_cut_off_ = false;
  bool has_woken_ = false;  // and the connection has not come yet
  std::function<void()> on_drained_;
};

}  // namespace weir::transport
