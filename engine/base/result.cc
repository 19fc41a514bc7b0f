#include "engine/base/result.h"

#include <fmt/core.h>

namespace varve {

std::string_view ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNotFound:
      return "not found";
    case ErrorCode::kNoSpace:
      return "no space";
    case ErrorCode::kCorruption:
      return "corruption";
    case ErrorCode::kDeviceError:
      return "device error";
    case ErrorCode::kInvalidArgument:
      return "invalid argument";
    case ErrorCode::kBusy:
      return "busy";
    case ErrorCode::kReadOnly:
      return "read-only";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kExists:
      return "exists";
    case ErrorCode::kNotDirectory:
      return "not a directory";
    case ErrorCode::kIsDirectory:
      return "is a directory";
    case ErrorCode::kNotEmpty:
      return "not empty";
    case ErrorCode::kNameTooLong:
      return "name too long";
    case ErrorCode::kPermission:
      return "not permitted";
    case ErrorCode::kAccess:
      return "access denied";
    case ErrorCode::kTooLarge:
      return "too large";
    case ErrorCode::kTooManyLinks:
      return "too many links";
    case ErrorCode::kNoAttribute:
      return "no such attribute";
    case ErrorCode::kBufferTooSmall:
      return "buffer too small";
    case ErrorCode::kStale:
      return "stale";
    case ErrorCode::kNoData:
      return "no data";
  }
  return "unknown error";
}

std::string Error::ToString() const {
  return fmt::format("{}: {}", ErrorCodeName(code_), message_);
}

}  // namespace varve
