// SPDX-License-Identifier: Apache-2.0
#include "transport/event_stream.h"

#include <algorithm>
#include <string>

namespace weir::transport {
namespace {

// A field of one line: whatever would end the line is left out.
void append_line(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  std::copy_if(value.begin(), value.end(), std::back_inserter(out),
               [](char c) { return c != '\n' && c != '\r' && c != '\0'; });
  out += '\n';
}

void append_data(std::string& out, std::string_view data) {
  while (true) {
    const std::size_t end = std::min(data.find_first_of("\r\n"), data.size());
    out += "data: ";
    out += data.substr(0, end);
    out += '\n';
    if (end == data.size()) return;
    data.remove_prefix(end + (data.substr(end).starts_with("\r\n") ? 2 : 1));
  }
}

}  // namespace

// Closes the stream when the last copy of the EventStream goes.
struct EventStream::Handle {
  std::shared_ptr<StreamSink> sink;

  explicit Handle(std::shared_ptr<StreamSink> to) : sink{std::move(to)} {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { sink->close(); }
};

EventStream::EventStream(std::shared_ptr<StreamSink> sink)
    : handle_{std::make_shared<Handle>(std::move(sink))} {}

bool EventStream::write(std::string_view id, std::string_view event, std::string_view data) const {
  std::string text;
  text.reserve(id.size() + event.size() + data.size() + 32);
  if (!id.empty()) append_line(text, "id: ", id);
  if (!event.empty()) append_line(text, "event: ", event);
  append_data(text, data);
  text += '\n';
  return write_bytes(text);
}

bool EventStream::write_comment(std::string_view text) const {
  std::string line;
  append_line(line, ":", text);
  line += '\n';
  return write_bytes(line);
}

bool EventStream::write_bytes(std::string_view bytes) const {
  return handle_ && handle_->sink->append(bytes);
}

bool EventStream::has_room() const {
  return handle_ && handle_->sink->has_room();
}

void EventStream::on_drained(std::function<void()> callback) const {
  if (handle_) handle_->sink->call_when_drained(std::move(callback));
}

void EventStream::close() const {
  if (handle_) handle_->sink->close();
}

bool EventStream::is_open() const {
  return handle_ && handle_->sink->is_open();
}

}  // namespace weir::transport
