// SPDX-License-Identifier: Apache-2.0
#include "transport/http_client.h"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace weir::transport {
namespace {

// curl must be set up once in a process, before threads use it; a local static is.
void set_up_curl() {
  static const CURLcode result = curl_global_init(CURL_GLOBAL_DEFAULT);
  static_cast<void>(result);  // a failure shows when the first handle cannot be made
}

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using CurlList = std::unique_ptr<curl_slist, FreeList>;

struct CloseHandle {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

// A proxy from the environment has no business between us and our own machine.
bool is_loopback_url(std::string_view url) {
  return url.find("//127.") != std::string_view::npos ||
         url.find("//localhost") != std::string_view::npos ||
         url.find("//[::1]") != std::string_view::npos;
}

// One transfer, as curl's callbacks see it.
struct Transfer {
  HttpReply reply;
  std::size_t most_bytes = 0;
  const std::function<bool(std::string_view)>* on_bytes = nullptr;
  const std::function<bool()>* should_stop = nullptr;
  bool is_stopped = false;  // by us, which is no failure
  bool is_too_large = false;

  bool take_body(std::string_view bytes) {
    if (on_bytes != nullptr && reply.succeeded()) {
      is_stopped = !(*on_bytes)(bytes);
      return !is_stopped;
    }
    is_too_large = reply.body.size() + bytes.size() > most_bytes;
    if (!is_too_large) reply.body += bytes;
    return !is_too_large;
  }

  void take_header(std::string_view line) {
    if (line.starts_with("HTTP/")) {  // a new response: what came before was "100 Continue"
      reply = HttpReply{};
      const std::size_t space = std::min(line.find(' '), line.size());
      reply.status = std::atoi(std::string{line.substr(space)}.c_str());
      return;
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    reply.headers.add(std::string{line.substr(0, colon)},
                      std::string{trimmed(line.substr(colon + 1))});
  }
};

// What curl calls. An exception must not pass through it.
std::size_t body_callback(char* bytes, std::size_t, std::size_t size, void* transfer) noexcept {
  return static_cast<Transfer*>(transfer)->take_body({bytes, size}) ? size : size + 1;
}

std::size_t header_callback(char* bytes, std::size_t, std::size_t size, void* transfer) noexcept {
  static_cast<Transfer*>(transfer)->take_header({bytes, size});
  return size;
}

int progress_callback(void* pointer, curl_off_t, curl_off_t, curl_off_t, curl_off_t) noexcept {
  Transfer& transfer = *static_cast<Transfer*>(pointer);
  if (transfer.should_stop != nullptr && (*transfer.should_stop)()) transfer.is_stopped = true;
  return transfer.is_stopped ? 1 : 0;
}

}  // namespace

class HttpClient::Impl {
 public:
  Impl(std::string url, std::string token, HttpClientLimits limits)
      : base_url{std::move(url)}, token_{std::move(token)}, limits_{limits} {
    set_up_curl();
    handle_.reset(curl_easy_init());
    while (base_url.ends_with('/')) base_url.pop_back();
  }

  Result<HttpReply> send(std::string_view method, std::string_view path, std::string_view body,
                         std::string_view content_type, const HeaderList& headers) {
    Transfer transfer;
    HeaderList all = headers;
    const bool has_body = !body.empty() || method == "POST" || method == "PUT" || method == "PATCH";
    if (has_body && !content_type.empty()) all.add("Content-Type", std::string{content_type});
    const std::string verb{method};
    prepare(path, transfer);
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(limits_.total_time.count()));
    if (has_body) {
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
      set(CURLOPT_POSTFIELDS, body.data() == nullptr ? "" : body.data());
    } else if (method == "HEAD") {
      set(CURLOPT_NOBODY, 1L);
    }
    set(CURLOPT_CUSTOMREQUEST, verb.c_str());
    return perform(all, transfer);
  }

  Result<HttpReply> stream(std::string_view path, const HeaderList& headers,
                           const std::function<bool(std::string_view)>& on_bytes,
                           const std::function<bool()>& should_stop) {
    Transfer transfer;
    transfer.on_bytes = &on_bytes;
    if (should_stop) transfer.should_stop = &should_stop;
    prepare(path, transfer);
    const auto silence = std::chrono::duration_cast<std::chrono::seconds>(limits_.silence_time);
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(CURLOPT_LOW_SPEED_TIME, std::max(1L, static_cast<long>(silence.count())));
    set(CURLOPT_TCP_KEEPALIVE, 1L);
    return perform(headers, transfer);
  }

  std::string base_url;

 private:
  template <class Value>
  void set(CURLoption option, Value value) {
    curl_easy_setopt(handle_.get(), option, value);
  }

  void prepare(std::string_view path, Transfer& transfer) {
    transfer.most_bytes = limits_.reply_bytes;
    if (!handle_) return;
    curl_easy_reset(handle_.get());  // keeps the connection
    const std::string url = base_url + std::string{path};
    set(CURLOPT_URL, url.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_PATH_AS_IS, 1L);
    set(CURLOPT_USERAGENT, "weir");
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(limits_.connect_time.count()));
    if (is_loopback_url(base_url)) set(CURLOPT_PROXY, "");
    set(CURLOPT_WRITEFUNCTION, &body_callback);
    set(CURLOPT_WRITEDATA, static_cast<void*>(&transfer));
    set(CURLOPT_HEADERFUNCTION, &header_callback);
    set(CURLOPT_HEADERDATA, static_cast<void*>(&transfer));
    set(CURLOPT_XFERINFOFUNCTION, &progress_callback);
    set(CURLOPT_XFERINFODATA, static_cast<void*>(&transfer));
    set(CURLOPT_NOPROGRESS, 0L);
    error_text_[0] = '\0';
    set(CURLOPT_ERRORBUFFER, error_text_.data());
  }

  Result<HttpReply> perform(const HeaderList& headers, Transfer& transfer) {
    if (!handle_) return unreachable(CURLE_FAILED_INIT);
    CurlList list = header_lines(headers);
    set(CURLOPT_HTTPHEADER, list.get());
    const CURLcode code = curl_easy_perform(handle_.get());
    set(CURLOPT_HTTPHEADER, nullptr);
    if (transfer.is_too_large) return too_large();
    if (code != CURLE_OK && !transfer.is_stopped) return unreachable(code);
    return std::move(transfer.reply);
  }

  CurlList header_lines(const HeaderList& headers) const {
    CurlList list;
    const auto add = [&](const std::string& line) {
      // A line feed in a value would begin another header.
      if (line.find_first_of("\r\n") != std::string::npos) return;
      if (curl_slist* longer = curl_slist_append(list.get(), line.c_str())) {
        static_cast<void>(list.release());
        list.reset(longer);
      }
    };
    for (const auto& [name, value] : headers) {
      add(value.empty() ? name + ";" : name + ": " + value);
    }
    if (!token_.empty()) add("Authorization: Bearer " + token_);
    return list;
  }

  tl::unexpected<Error> unreachable(CURLcode code) const {
    std::string_view field = "the connection";
    std::string found = error_text_[0] != '\0' ? error_text_.data() : curl_easy_strerror(code);
    std::string expected = "a server there; is `weir serve` running?";
    if (code == CURLE_COULDNT_CONNECT) {
      found = "refused";
    } else if (code == CURLE_OPERATION_TIMEDOUT) {
      field = "the answer";
      found = "not there in time";
      expected = "one within the time limit; is the server overloaded or stopped?";
    } else if (code == CURLE_COULDNT_RESOLVE_HOST) {
      field = "the host name";
      found = "unknown";
      expected = "a name or address that exists";
    } else if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL) {
      field = "the URL";
      found = base_url;
      expected = "http://HOST:PORT";
    } else if (code == CURLE_GOT_NOTHING || code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR ||
               code == CURLE_PARTIAL_FILE) {
      field = "the answer";
      found = "cut off";
      expected = "a whole one; did the server stop?";
    }
    return failed("cannot reach " + base_url, field, std::move(found), std::move(expected));
  }

  tl::unexpected<Error> too_large() const {
    return failed(base_url, "the answer", "too large",
                  fmt::format("at most {} bytes", limits_.reply_bytes));
  }

  static tl::unexpected<Error> failed(std::string what, std::string_view field, std::string found,
                                      std::string expected) {
    Diagnostics details;
    details.add(
        Diagnostic{std::move(what), 0, std::string{field}, std::move(found), std::move(expected)});
    return tl::unexpected(Error{ErrorCode::unavailable, std::move(details)});
  }

  std::unique_ptr<CURL, CloseHandle> handle_;
  std::string token_;
  HttpClientLimits limits_;
  std::array<char, CURL_ERROR_SIZE> error_text_{};
};

HttpClient::HttpClient(std::string base_url, std::string token, HttpClientLimits limits)
    : impl_{std::make_unique<Impl>(std::move(base_url), std::move(token), limits)} {}
HttpClient::~HttpClient() = default;
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;

Result<HttpReply> HttpClient::send(std::string_view method, std::string_view path,
                                   std::string_view body, std::string_view content_type,
                                   const HeaderList& headers) {
  return impl_->send(method, path, body, content_type, headers);
}

Result<HttpReply> HttpClient::get(std::string_view path, const HeaderList& headers) {
  return send("GET", path, "", "", headers);
}

Result<HttpReply> HttpClient::stream(std::string_view path, const HeaderList& headers,
                                     const std::function<bool(std::string_view bytes)>& on_bytes,
                                     const std::function<bool()>& should_stop) {
  return impl_->stream(path, headers, on_bytes, should_stop);
}

const std::string& HttpClient::base_url() const {
  return impl_->base_url;
}

}  // namespace weir::transport
