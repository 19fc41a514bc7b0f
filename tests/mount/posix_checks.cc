// What system calls promise on a mounted directory, one claim a function. Exit code 0 when all hold; those
// that do not are named.
//
//   posix_checks DIR
//
// Long because: it is a list of claims, each a function of its own, and one program to run on a mount.
#include <dirent.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace {

std::string root;
int failures = 0;
std::string_view claim;

void Expect(bool holds, const char* what, int line) {
  if (!holds) {
    std::printf("line %d: %s: %s (errno %s)\n", line, std::string(claim).c_str(), what, std::strerror(errno));
    ++failures;
  }
}
#define EXPECT(condition) Expect((condition), #condition, __LINE__)

std::string At(std::string_view name) {
  return root + "/" + std::string(name);
}

int Make(std::string_view name, std::string_view content = "", mode_t mode = 0644) {
  const int file = open(At(name).c_str(), O_RDWR | O_CREAT | O_TRUNC, mode);
  EXPECT(file >= 0);
  EXPECT(write(file, content.data(), content.size()) == static_cast<ssize_t>(content.size()));
  return file;
}

std::string Content(std::string_view name) {
  std::string content;
  const int file = open(At(name).c_str(), O_RDONLY);
  char bytes[4096];
  for (ssize_t got = 0; file >= 0 && (got = read(file, bytes, sizeof(bytes))) > 0;) {
    content.append(bytes, static_cast<size_t>(got));
  }
  close(file);
  return content;
}

struct stat Stat(std::string_view name) {
  struct stat stat = {};
  lstat(At(name).c_str(), &stat);
  return stat;
}

void ExclusiveCreateFailsWhereTheNameExists() {
  close(Make("exclusive"));
  errno = 0;
  EXPECT(open(At("exclusive").c_str(), O_WRONLY | O_CREAT | O_EXCL, 0644) < 0 && errno == EEXIST);
}

void TruncatingOpenEmptiesTheFile() {
  close(Make("truncated", "content"));
  const int file = open(At("truncated").c_str(), O_WRONLY | O_TRUNC);
  EXPECT(file >= 0 && Stat("truncated").st_size == 0);
  close(file);
  EXPECT(Content("truncated").empty());
}

void UnlinkedFileLivesWhileItIsOpen() {
  const int file = Make("unlinked", "still here");
  EXPECT(unlink(At("unlinked").c_str()) == 0);
  char bytes[16] = {};
  EXPECT(pread(file, bytes, sizeof(bytes), 0) == 10 && std::string_view(bytes) == "still here");
  EXPECT(pwrite(file, "and", 3, 0) == 3 && pread(file, bytes, 3, 0) == 3 &&
         std::string_view(bytes, 3) == "and");
  struct stat stat = {};
  EXPECT(fstat(file, &stat) == 0 && stat.st_nlink == 0);
  close(file);
}

void TemporaryFileCanBeGivenAName() {
  const int file = open(root.c_str(), O_TMPFILE | O_RDWR, 0600);
  EXPECT(file >= 0);
  EXPECT(write(file, "temporary", 9) == 9);
  const std::string self = "/proc/self/fd/" + std::to_string(file);
  EXPECT(linkat(AT_FDCWD, self.c_str(), AT_FDCWD, At("was-temporary").c_str(), AT_SYMLINK_FOLLOW) == 0);
  close(file);
  EXPECT(Content("was-temporary") == "temporary");
}

void RenameFlagsAreObeyed() {
  close(Make("rename-a", "a"));
  close(Make("rename-b", "b"));
  errno = 0;
  EXPECT(renameat2(AT_FDCWD, At("rename-a").c_str(), AT_FDCWD, At("rename-b").c_str(), RENAME_NOREPLACE) !=
             0 &&
         errno == EEXIST);
  EXPECT(renameat2(AT_FDCWD, At("rename-a").c_str(), AT_FDCWD, At("rename-b").c_str(), RENAME_EXCHANGE) == 0);
  EXPECT(Content("rename-a") == "b" && Content("rename-b") == "a");
  EXPECT(rename(At("rename-a").c_str(), At("rename-b").c_str()) == 0);
  EXPECT(Content("rename-b") == "b" && access(At("rename-a").c_str(), F_OK) != 0);
}

void DirectoriesRefuseWhatTheyMust() {
  EXPECT(mkdir(At("folder").c_str(), 0755) == 0);
  EXPECT(mkdir(At("folder/inner").c_str(), 0755) == 0);
  EXPECT(Stat("folder").st_nlink == 3);
  errno = 0;
  EXPECT(rmdir(At("folder").c_str()) != 0 && errno == ENOTEMPTY);
  errno = 0;
  EXPECT(rename(At("folder").c_str(), At("folder/inner/self").c_str()) != 0 && errno == EINVAL);
  errno = 0;
  EXPECT(unlink(At("folder").c_str()) != 0 && errno == EISDIR);
  EXPECT(rmdir(At("folder/inner").c_str()) == 0 && rmdir(At("folder").c_str()) == 0);
  errno = 0;
  EXPECT(mkdir(At(std::string(256, 'x')).c_str(), 0755) != 0 && errno == ENAMETOOLONG);
}

void HolesAreFoundAndPunched() {
  const int file = Make("holes");
  EXPECT(ftruncate(file, 8 << 20) == 0);
  EXPECT(pwrite(file, "data", 4, 4 << 20) == 4);
  const off_t data = lseek(file, 0, SEEK_DATA);
  EXPECT(data > 0 && data <= 4 << 20);
  EXPECT(lseek(file, 4 << 20, SEEK_HOLE) > 4 << 20);
  errno = 0;
  EXPECT(lseek(file, 8 << 20, SEEK_DATA) < 0 && errno == ENXIO);
  EXPECT(fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 8 << 20) == 0);
  char bytes[4] = {1, 1, 1, 1};
  EXPECT(pread(file, bytes, 4, 4 << 20) == 4 && bytes[0] == 0 && bytes[3] == 0);
  EXPECT(fallocate(file, 0, 8 << 20, 4096) == 0 && Stat("holes").st_size == (8 << 20) + 4096);
  close(file);
}

void CopyFileRangeCopies() {
  const int from = Make("copy-from", std::string(300'000, 'c'));
  const int to = Make("copy-to");
  off_t from_offset = 0;
  off_t to_offset = 0;
  while (from_offset < 300'000) {
    if (copy_file_range(from, &from_offset, to, &to_offset, static_cast<size_t>(300'000 - from_offset), 0) <=
        0) {
      break;
    }
  }
  EXPECT(to_offset == 300'000 && Content("copy-to") == std::string(300'000, 'c'));
  close(from);
  close(to);
}

void ExtendedAttributesAreKept() {
  close(Make("attributes"));
  const std::string path = At("attributes");
  char value[16] = {};
  EXPECT(setxattr(path.c_str(), "user.one", "1", 1, XATTR_CREATE) == 0);
  errno = 0;
  EXPECT(setxattr(path.c_str(), "user.one", "2", 1, XATTR_CREATE) != 0 && errno == EEXIST);
  EXPECT(getxattr(path.c_str(), "user.one", value, sizeof(value)) == 1 && value[0] == '1');
  errno = 0;
  EXPECT(getxattr(path.c_str(), "user.none", value, sizeof(value)) < 0 && errno == ENODATA);
  EXPECT(listxattr(path.c_str(), nullptr, 0) == 9);
  EXPECT(removexattr(path.c_str(), "user.one") == 0 && listxattr(path.c_str(), nullptr, 0) == 0);
}

// What the kernel goes by when it runs the file: the mode that it knows, without asking.
mode_t KnownMode(std::string_view name) {
  struct statx known = {};
  EXPECT(statx(AT_FDCWD, At(name).c_str(), AT_STATX_DONT_SYNC, STATX_MODE, &known) == 0);
  return known.stx_mode;
}

void WritingClearsSetUserId() {
  const int from = Make("setuid-from", "y");
  const std::vector<std::function<bool(int)>> ways = {
      [](int file) { return write(file, "y", 1) == 1; },
      [from](int file) {
        off_t at = 0;
        return copy_file_range(from, &at, file, nullptr, 1, 0) == 1;
      },
      [](int file) { return fallocate(file, 0, 0, 100) == 0; },
  };
  for (const std::function<bool(int)>& change : ways) {
    close(Make("setuid", "x", 0644));
    EXPECT(chown(At("setuid").c_str(), 1234, 1234) == 0);
    EXPECT(chmod(At("setuid").c_str(), 06755) == 0);
    const pid_t child = fork();
    if (child == 0) {
      const int file = open(At("setuid").c_str(), O_WRONLY);
      const bool dropped = file >= 0 && setgid(1234) == 0 && setuid(1234) == 0;
      _exit(!dropped ? 1 : change(file) ? 0 : errno);
    }
    int status = 0;
    EXPECT(waitpid(child, &status, 0) == child);
    errno = WEXITSTATUS(status);
    EXPECT(status == 0);
    EXPECT((KnownMode("setuid") & 06000U) == 0);
    EXPECT((Stat("setuid").st_mode & 06000U) == 0);
    unlink(At("setuid").c_str());
  }
  close(from);
  close(Make("setuid", "x", 0644));
  EXPECT(chmod(At("setuid").c_str(), 04755) == 0 && chown(At("setuid").c_str(), 4321, 4321) == 0);
  EXPECT((Stat("setuid").st_mode & 04000U) == 0);
}

void SharedMappingsReachTheFile() {
  const int file = Make("mapped", std::string(8192, '.'));
  void* const address = mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  EXPECT(address != MAP_FAILED);
  std::memcpy(static_cast<char*>(address) + 5000, "mapped", 6);
  EXPECT(msync(address, 8192, MS_SYNC) == 0);
  munmap(address, 8192);
  close(file);
  EXPECT(Content("mapped").substr(5000, 6) == "mapped");
}

void LocksExclude() {
  const int first = Make("locked");
  const int second = open(At("locked").c_str(), O_RDWR);
  EXPECT(flock(first, LOCK_EX) == 0);
  errno = 0;
  EXPECT(flock(second, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK);
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  EXPECT(fcntl(first, F_OFD_SETLK, &lock) == 0);
  errno = 0;
  EXPECT(fcntl(second, F_OFD_SETLK, &lock) != 0 && errno == EAGAIN);
  close(first);
  close(second);
}

void AppendsFromTwoDescriptorsDoNotOverwrite() {
  close(Make("appended"));
  const int first = open(At("appended").c_str(), O_WRONLY | O_APPEND);
  const int second = open(At("appended").c_str(), O_WRONLY | O_APPEND);
  EXPECT(write(first, "one", 3) == 3 && write(second, "two", 3) == 3 && write(first, "three", 5) == 5);
  close(first);
  close(second);
  EXPECT(Content("appended") == "onetwothree");
}

void SyncCallsAnswer() {
  const int file = Make("synced", "x");
  const int folder = open(root.c_str(), O_RDONLY | O_DIRECTORY);
  EXPECT(fsync(file) == 0 && fdatasync(file) == 0 && fsync(folder) == 0 && syncfs(folder) == 0);
  close(folder);
  close(file);
  const int durable = open(At("durable").c_str(), O_WRONLY | O_CREAT | O_DSYNC, 0644);
  EXPECT(write(durable, "d", 1) == 1);
  close(durable);
}

void DirectoryStreamSurvivesRemovals() {
  EXPECT(mkdir(At("listed").c_str(), 0755) == 0);
  for (int i = 0; i < 3000; ++i) {
    close(Make("listed/" + std::to_string(i)));
  }
  DIR* const stream = opendir(At("listed").c_str());
  int removed = 0;
  for (const dirent* entry = nullptr; (entry = readdir(stream)) != nullptr;) {
    if (entry->d_name[0] != '.') {
      removed += unlink(At("listed/" + std::string(entry->d_name)).c_str()) == 0 ? 1 : 0;
    }
  }
  closedir(stream);
  EXPECT(removed == 3000 && rmdir(At("listed").c_str()) == 0);
}

void MakeNumbered(const std::string& folder, int files) {
  EXPECT(mkdir(At(folder).c_str(), 0755) == 0);
  for (int i = 0; i < files; ++i) {
    close(Make(folder + "/" + std::to_string(i)));
  }
}

// Names other than "." and "..", of the next `names_max` entries.
std::vector<std::string> NextNames(DIR* stream, size_t names_max = SIZE_MAX) {
  std::vector<std::string> names;
  for (const dirent* entry = nullptr; names.size() < names_max && (entry = readdir(stream)) != nullptr;) {
    if (entry->d_name[0] != '.') {
      names.emplace_back(entry->d_name);
    }
  }
  return names;
}

std::vector<std::string> NamesIn(const std::string& folder) {
  DIR* const stream = opendir(At(folder).c_str());
  std::vector<std::string> names = NextNames(stream);
  closedir(stream);
  return names;
}

void RemoveAll(const std::string& folder, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    EXPECT(unlink(At(folder + "/" + name).c_str()) == 0);
  }
}

void AListingHasWhatWasMadeBetweenOpeningAndReading() {
  MakeNumbered("opened", 1);
  const int folder = open(At("opened").c_str(), O_RDONLY | O_DIRECTORY);
  close(openat(folder, "x", O_CREAT | O_WRONLY, 0644));
  DIR* const stream = fdopendir(folder);
  EXPECT(NextNames(stream).size() == 2);
  close(openat(folder, "y", O_CREAT | O_WRONLY, 0644));
  rewinddir(stream);
  EXPECT(NextNames(stream).size() == 3);
  closedir(stream);
  RemoveAll("opened", NamesIn("opened"));
  EXPECT(rmdir(At("opened").c_str()) == 0);
}

void AnOldStreamLeavesNoOldListingBehind() {
  MakeNumbered("relisted", 1);
  DIR* const stream = opendir(At("relisted").c_str());
  close(Make("relisted/x"));
  EXPECT(S_ISREG(Stat("relisted/x").st_mode));
  (void)NextNames(stream);
  EXPECT(NamesIn("relisted").size() == 2);
  closedir(stream);
  EXPECT(NamesIn("relisted").size() == 2);
  RemoveAll("relisted", NamesIn("relisted"));
  EXPECT(rmdir(At("relisted").c_str()) == 0);
}

void AListingBesideARemovalHidesNothingFromIt() {
  MakeNumbered("shared", 3000);
  DIR* const stream = opendir(At("shared").c_str());
  RemoveAll("shared", NextNames(stream, 1000));
  EXPECT(NamesIn("shared").size() == 2000);
  const std::vector<std::string> rest = NextNames(stream);
  EXPECT(rest.size() == 2000);
  RemoveAll("shared", rest);
  closedir(stream);
  EXPECT(rmdir(At("shared").c_str()) == 0);
}

void SeekingBackFindsWhatIsLeft() {
  MakeNumbered("sought", 3000);
  DIR* const stream = opendir(At("sought").c_str());
  std::vector<std::string> names = NextNames(stream, 700);
  const long place = telldir(stream);
  const std::vector<std::string> rest = NextNames(stream);
  EXPECT(rest.size() == 2300);
  RemoveAll("sought", names);
  EXPECT(unlink(At("sought/" + rest[0]).c_str()) == 0);
  seekdir(stream, place);
  names = NextNames(stream);
  EXPECT(names == std::vector<std::string>(rest.begin() + 1, rest.end()));
  RemoveAll("sought", names);
  closedir(stream);
  EXPECT(rmdir(At("sought").c_str()) == 0);
}

void StatfsTellsSpace() {
  struct statvfs answer = {};
  EXPECT(statvfs(root.c_str(), &answer) == 0);
  EXPECT(answer.f_blocks > 0 && answer.f_bavail <= answer.f_bfree && answer.f_bfree <= answer.f_blocks);
  EXPECT(answer.f_namemax == 255);
}

void TimesAreKeptToTheNanosecond() {
  close(Make("times"));
  const timespec times[] = {{123456789, 123456789}, {-5, 999999999}};
  EXPECT(utimensat(AT_FDCWD, At("times").c_str(), times, 0) == 0);
  const struct stat stat = Stat("times");
  EXPECT(stat.st_atim.tv_sec == 123456789 && stat.st_atim.tv_nsec == 123456789);
  EXPECT(stat.st_mtim.tv_sec == -5 && stat.st_mtim.tv_nsec == 999999999);
}

// relatime: the first read after a change is noted, the next is not. What the kernel's cache answers never
// is.
void ReadsAreNotedOnceAfterEachChange() {
  close(Make("read", "content"));
  const timespec old[] = {{1000, 0}, {2000, 0}};
  EXPECT(utimensat(AT_FDCWD, At("read").c_str(), old, 0) == 0);
  const int file = open(At("read").c_str(), O_RDONLY | O_DIRECT);
  char bytes[4096];
  EXPECT(read(file, bytes, sizeof(bytes)) == 7);
  const struct stat first = Stat("read");
  EXPECT(first.st_atim.tv_sec > 2000 && first.st_mtim.tv_sec == 2000);
  usleep(20'000);
  EXPECT(pread(file, bytes, sizeof(bytes), 0) == 7);
  EXPECT(Stat("read").st_atim.tv_nsec == first.st_atim.tv_nsec);
  close(file);
}

void HandlesForExportAreRefused() {
  close(Make("handle"));
  alignas(file_handle) char room[sizeof(file_handle) + MAX_HANDLE_SZ] = {};
  auto* const handle = reinterpret_cast<file_handle*>(room);
  handle->handle_bytes = MAX_HANDLE_SZ;
  int mount_id = 0;
  errno = 0;
  EXPECT(name_to_handle_at(AT_FDCWD, At("handle").c_str(), handle, &mount_id, 0) != 0 && errno == EOPNOTSUPP);
}

void BlocksAreThoseOfTheBytesThatAreStored() {
  close(Make("empty"));
  EXPECT(Stat("empty").st_blocks == 0);
  const int file = Make("blocks", std::string(1 << 20, 'b'));
  EXPECT(Stat("blocks").st_blocks == (1 << 20) / 512);
  EXPECT(fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1 << 19) == 0);
  EXPECT(Stat("blocks").st_blocks == (1 << 19) / 512);
  EXPECT(ftruncate(file, 1 << 30) == 0 && Stat("blocks").st_blocks == (1 << 19) / 512);
  close(file);
}

void InodeNumbersAreNotGivenTwice() {
  close(Make("first"));
  const ino_t first = Stat("first").st_ino;
  EXPECT(unlink(At("first").c_str()) == 0);
  close(Make("first"));
  EXPECT(Stat("first").st_ino > first);
}

void NamesThatDoNotExistStayAbsentUntilTheyAreMade() {
  EXPECT(access(At("later").c_str(), F_OK) != 0 && access(At("later").c_str(), F_OK) != 0);
  close(Make("later"));
  EXPECT(access(At("later").c_str(), F_OK) == 0);
  EXPECT(unlink(At("later").c_str()) == 0 && access(At("later").c_str(), F_OK) != 0);
}

struct NamedCheck {
  std::string_view name;
  void (*run)();
};
#define CHECK_OF(function) \
  NamedCheck {             \
#function, function    \
  }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: posix_checks DIR\n");
    return 2;
  }
  root = argv[1];
  const std::vector<NamedCheck> checks = {
      CHECK_OF(ExclusiveCreateFailsWhereTheNameExists),
      CHECK_OF(TruncatingOpenEmptiesTheFile),
      CHECK_OF(UnlinkedFileLivesWhileItIsOpen),
      CHECK_OF(TemporaryFileCanBeGivenAName),
      CHECK_OF(RenameFlagsAreObeyed),
      CHECK_OF(DirectoriesRefuseWhatTheyMust),
      CHECK_OF(HolesAreFoundAndPunched),
      CHECK_OF(CopyFileRangeCopies),
      CHECK_OF(ExtendedAttributesAreKept),
      CHECK_OF(WritingClearsSetUserId),
      CHECK_OF(SharedMappingsReachTheFile),
      CHECK_OF(LocksExclude),
      CHECK_OF(AppendsFromTwoDescriptorsDoNotOverwrite),
      CHECK_OF(SyncCallsAnswer),
      CHECK_OF(DirectoryStreamSurvivesRemovals),
      CHECK_OF(AListingHasWhatWasMadeBetweenOpeningAndReading),
      CHECK_OF(AnOldStreamLeavesNoOldListingBehind),
      CHECK_OF(AListingBesideARemovalHidesNothingFromIt),
      CHECK_OF(SeekingBackFindsWhatIsLeft),
      CHECK_OF(StatfsTellsSpace),
      CHECK_OF(TimesAreKeptToTheNanosecond),
      CHECK_OF(ReadsAreNotedOnceAfterEachChange),
      CHECK_OF(HandlesForExportAreRefused),
      CHECK_OF(BlocksAreThoseOfTheBytesThatAreStored),
      CHECK_OF(InodeNumbersAreNotGivenTwice),
      CHECK_OF(NamesThatDoNotExistStayAbsentUntilTheyAreMade),
  };
  for (const NamedCheck& check : checks) {
    claim = check.name;
    check.run();
  }
  std::printf("%zu claims, %d failures\n", checks.size(), failures);
  return failures == 0 ? 0 : 1;
}
