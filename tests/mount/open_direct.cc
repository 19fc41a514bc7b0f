// Loaded before fsx (LD_PRELOAD), which knows no O_DIRECT: files below VARVE_OPEN_DIRECT are opened with it.
// Neither fsx's offsets nor its memory are aligned, which a FUSE filesystem does not ask for.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/types.h>

#include <cstdarg>
#include <cstdlib>
#include <cstring>

namespace {

using Open = int (*)(const char*, int, ...);

int WithDirect(const char* path, int flags) {
  const char* folder = std::getenv("VARVE_OPEN_DIRECT");
  const bool below = folder != nullptr && std::strncmp(path, folder, std::strlen(folder)) == 0;
  return below && (flags & O_DIRECTORY) == 0 ? flags | O_DIRECT : flags;
}

int OpenDirect(const char* function, const char* path, int flags, mode_t mode) {
  return reinterpret_cast<Open>(dlsym(RTLD_NEXT, function))(path, WithDirect(path, flags), mode);
}

// The argument behind the flags, where there is one.
mode_t ModeOf(int flags, va_list rest) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
}

}  // namespace

// Named for the linker alone: the headers may have `open` already mean `open64`.
extern "C" int OpenPlain(const char* path, int flags, ...) asm("open");
extern "C" int OpenLarge(const char* path, int flags, ...) asm("open64");

int OpenPlain(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = ModeOf(flags, rest);
  va_end(rest);
  return OpenDirect("open", path, flags, mode);
}

int OpenLarge(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = ModeOf(flags, rest);
  va_end(rest);
  return OpenDirect("open64", path, flags, mode);
}
