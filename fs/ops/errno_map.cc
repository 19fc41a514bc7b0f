#include "fs/ops/errno_map.h"

#include <cerrno>

namespace varve {

int ErrnoOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNotFound:
      return ENOENT;
    case ErrorCode::kNoSpace:
      return ENOSPC;
    case ErrorCode::kCorruption:
    case ErrorCode::kDeviceError:
      return EIO;
    case ErrorCode::kInvalidArgument:
      return EINVAL;
    case ErrorCode::kBusy:
      return EBUSY;
    case ErrorCode::kReadOnly:
      return EROFS;
    case ErrorCode::kUnsupported:
      return EOPNOTSUPP;
    case ErrorCode::kCancelled:
      return EIO;  // the store is closing: whoever still asks must not mistake it for an interruption
    case ErrorCode::kExists:
      return EEXIST;
    case ErrorCode::kNotDirectory:
      return ENOTDIR;
    case ErrorCode::kIsDirectory:
      return EISDIR;
    case ErrorCode::kNotEmpty:
      return ENOTEMPTY;
    case ErrorCode::kNameTooLong:
      return ENAMETOOLONG;
    case ErrorCode::kPermission:
      return EPERM;
    case ErrorCode::kAccess:
      return EACCES;
    case ErrorCode::kTooLarge:
      return EFBIG;
    case ErrorCode::kTooManyLinks:
      return EMLINK;
    case ErrorCode::kNoAttribute:
      return ENODATA;
    case ErrorCode::kBufferTooSmall:
      return ERANGE;
    case ErrorCode::kStale:
      return ESTALE;
    case ErrorCode::kNoData:
      return ENXIO;
  }
  return EIO;
}

}  // namespace varve
