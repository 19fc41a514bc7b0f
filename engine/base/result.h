// The one way that functions report failure: Result<T> holds a value or an Error, Status is Result without a
// value. No exception crosses a room; std::bad_alloc ends the process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "engine/base/check.h"

namespace varve {

enum class ErrorCode : uint8_t {
  kNotFound = 1,
  kNoSpace,          // the device, or the part of it that users may fill, is full
  kCorruption,       // bytes on the device are not what was written
  kDeviceError,      // the device refused or failed an operation
  kInvalidArgument,  // the caller's mistake, or a limit of the format exceeded
  kBusy,             // somebody else holds it
  kReadOnly,         // the store takes no writes (mounted so, or after an error)
  kUnsupported,      // a format or feature this version does not know
  kCancelled,        // the store is closing
  // What only the filesystem says; fs/ops maps every code to one errno.
  kExists,
  kNotDirectory,
  kIsDirectory,
  kNotEmpty,
  kNameTooLong,
  kPermission,  // EPERM: the operation is refused whoever asks, or is not the caller's to do
  kAccess,      // EACCES
  kTooLarge,    // beyond the largest file
  kTooManyLinks,
  kNoAttribute,     // no such extended attribute
  kBufferTooSmall,  // ERANGE of the xattr calls
  kStale,           // the node is gone
  kNoData,          // ENXIO of lseek: nothing at or beyond the offset
};

std::string_view ErrorCodeName(ErrorCode code);

class [[nodiscard]] Error {
 public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }
  // "corruption: superblock checksum differs"
  std::string ToString() const;

 private:
  ErrorCode code_;
  std::string message_;
};

inline Error NotFound(std::string message) {
  return {ErrorCode::kNotFound, std::move(message)};
}
inline Error NoSpace(std::string message) {
  return {ErrorCode::kNoSpace, std::move(message)};
}
inline Error Corruption(std::string message) {
  return {ErrorCode::kCorruption, std::move(message)};
}
inline Error DeviceError(std::string message) {
  return {ErrorCode::kDeviceError, std::move(message)};
}
inline Error InvalidArgument(std::string message) {
  return {ErrorCode::kInvalidArgument, std::move(message)};
}
inline Error Busy(std::string message) {
  return {ErrorCode::kBusy, std::move(message)};
}
inline Error ReadOnly(std::string message) {
  return {ErrorCode::kReadOnly, std::move(message)};
}
inline Error Unsupported(std::string message) {
  return {ErrorCode::kUnsupported, std::move(message)};
}
inline Error Cancelled(std::string message) {
  return {ErrorCode::kCancelled, std::move(message)};
}

// Either success or an Error. Success costs one pointer and no allocation.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::make_unique<Error>(std::move(error))) {}  // NOLINT: implicit by design
  Status(const Status& other) : error_(other.error_ ? std::make_unique<Error>(*other.error_) : nullptr) {}
  Status& operator=(const Status& other) {
    error_ = other.error_ ? std::make_unique<Error>(*other.error_) : nullptr;
    return *this;
  }
  Status(Status&&) = default;
  Status& operator=(Status&&) = default;

  bool ok() const { return error_ == nullptr; }
  explicit operator bool() const { return ok(); }
  // Precondition: !ok().
  const Error& error() const {
    Check(error_ != nullptr, "error() of a success");
    return *error_;
  }
  bool Is(ErrorCode code) const { return error_ != nullptr && error_->code() == code; }
  std::string ToString() const { return ok() ? "ok" : error_->ToString(); }

 private:
  std::unique_ptr<Error> error_;
};

inline Status OkStatus() {
  return {};
}

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit by design

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // Precondition of the four: ok().
  T& value() & {
    RequireValue();
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    RequireValue();
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    RequireValue();
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // Precondition: !ok().
  const Error& error() const {
    Check(!ok(), "error() of a success");
    return *std::get_if<1>(&state_);
  }
  bool Is(ErrorCode code) const { return !ok() && error().code() == code; }
  Status status() const { return ok() ? Status() : Status(error()); }
  std::string ToString() const { return ok() ? "ok" : error().ToString(); }

 private:
  void RequireValue() const { Check(ok(), ok() ? std::string_view() : std::string_view(error().message())); }

  std::variant<T, Error> state_;
};

}  // namespace varve
