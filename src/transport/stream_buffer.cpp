// SPDX-License-Identifier: Apache-2.0
#include "transport/stream_buffer.h"

#include <utility>

namespace weir::transport {

bool StreamBuffer::append(std::string_view bytes) {
  {
    const std::lock_guard lock{mutex_};
    if (is_closed_) return false;
    if (waiting_.size() + being_sent_ + bytes.size() > most_bytes_) {
      is_closed_ = true;
      is_cut_off_ = true;
      waiting_.clear();
    } else {
      waiting_ += bytes;
    }
    if (std::exchange(has_woken_, true)) return !is_closed_;
  }
  wake_(shared_from_this());
  return is_open();
}

bool StreamBuffer::has_room() const {
  const std::lock_guard lock{mutex_};
  return !is_closed_ && waiting_.size() + being_sent_ < most_bytes_ / 2;
}

bool StreamBuffer::is_open() const {
  const std::lock_guard lock{mutex_};
  return !is_closed_;
}

void StreamBuffer::call_when_drained(std::function<void()> callback) {
  bool is_due = false;
  {
    const std::lock_guard lock{mutex_};
    on_drained_ = std::move(callback);
    is_due = is_closed_ || waiting_.size() + being_sent_ < most_bytes_ / 2;
    if (is_due && std::exchange(has_woken_, true)) return;
  }
  if (!is_due || wake_(shared_from_this())) return;
  // The connection is gone and comes no more.
  if (const auto due = take_callback_if_due()) due();
}

void StreamBuffer::close() {
  {
    const std::lock_guard lock{mutex_};
    if (std::exchange(is_closed_, true)) return;
    if (std::exchange(has_woken_, true)) return;
  }
  wake_(shared_from_this());
}

StreamBuffer::Batch StreamBuffer::take() {
  const std::lock_guard lock{mutex_};
  has_woken_ = false;
  being_sent_ = waiting_.size();
  return Batch{std::exchange(waiting_, {}), is_closed_, is_cut_off_};
}

bool StreamBuffer::is_cut_off() const {
  const std::lock_guard lock{mutex_};
  return is_cut_off_;
}

void StreamBuffer::sent() {
  {
    const std::lock_guard lock{mutex_};
    being_sent_ = 0;
  }
  if (const auto due = take_callback_if_due()) due();
}

void StreamBuffer::abandon() {
  {
    const std::lock_guard lock{mutex_};
    is_closed_ = true;
    waiting_.clear();
    being_sent_ = 0;
    has_woken_ = false;
  }
  if (const auto due = take_callback_if_due()) due();
}

std::function<void()> StreamBuffer::take_callback_if_due() {
  const std::lock_guard lock{mutex_};
  const bool is_due = is_closed_ || waiting_.size() + being_sent_ < most_bytes_ / 2;
  return is_due ? std::exchange(on_drained_, nullptr) : nullptr;
}

}  // namespace weir::transport
