#include "engine/version/version_set.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "engine/base/check.h"
#include "engine/space/extent_allocator.h"
#include "engine/space/superblock_store.h"
#include "engine/version/invariants.h"
#include "engine/version/manifest_reader.h"
#include "engine/version/manifest_writer.h"

namespace varve {

namespace {

// How far ahead of the ids handed out the durable limit runs: a record a few hundred thousand tables is
// nothing, and ids that a crash leaves unused cost nothing either.
constexpr uint64_t kTableIdsAhead = uint64_t{1} << 20;

// Everything that lives on the device by `version` and the manifest, marked used.
Status MarkAllUsed(ExtentAllocator& allocator, const Version& version, const ManifestLocation& manifest) {
  Status status = allocator.MarkUsed(manifest.extents, "the manifest");
  for (const WalSegment& segment : version.wal_segments()) {
    if (status.ok()) {
      const std::vector<Extent> extents{segment.extent};
      status = allocator.MarkUsed(extents, fmt::format("segment {} of the log", segment.number));
    }
  }
  version.ForEachTable([&](const LiveTable& table) {
    std::vector<Extent> extents;
    for (const TableExtent& part : table.view().extents) {
      extents.push_back(part.extent);
    }
    if (status.ok()) {
      status = allocator.MarkUsed(extents, fmt::format("table {}", table.id().value));
    }
  });
  return status;
}

// Jobs end in another order than they began: a counter that a later one has raised further stays.
template <typename Number>
void DropIfPassed(std::optional<Number>& counter, Number now) {
  if (counter.has_value() && *counter < now) {
    counter.reset();
  }
}

}  // namespace

VersionSet::VersionSet(VersionSetEnvironment environment, std::unique_ptr<ManifestWriter> manifest,
                       ManifestContent& content, std::shared_ptr<const Version> version,
                       std::shared_ptr<LiveTables> tables)
    : environment_(environment),
      manifest_(std::move(manifest)),
      clean_end_(content.clean_end),
      recovered_edit_(std::move(content.last_edit)),
      recovered_hot_map_(std::move(content.hot_map)),
      tables_(std::move(tables)),
      next_table_id_(version->counters().next_table_id.value),
      table_id_limit_(version->counters().next_table_id.value),
      current_(std::move(version)),
      manifest_extents_(manifest_->location().extents) {
}

VersionSet::~VersionSet() {
  tables_->StopReporting();
}

Task<Result<std::unique_ptr<VersionSet>>> VersionSet::Open(VersionSetEnvironment environment) {
  const Superblock& superblock = environment.superblocks.current();
  auto tables = std::make_shared<LiveTables>(environment.releases);
  ManifestVisitor no_visitor;
  Result<ManifestContent> content =
      co_await ReadManifest(environment.device, superblock, *tables, no_visitor);
  if (!content.ok()) {
    co_return content.error();
  }
  const auto version = std::make_shared<const Version>(std::move(content->version));
  const std::vector<std::string> violations = CheckVersion(*version);
  if (!violations.empty()) {
    co_return Corruption(fmt::format("the manifest describes an impossible store: {}", violations.front()));
  }
  Status marked = MarkAllUsed(environment.allocator, *version, superblock.manifest);
  if (!marked.ok()) {
    co_return marked.error();
  }
  version->ForEachTable(
      [&](const LiveTable& table) { tables->MarkInstalled(table.id(), table.generation()); });
  auto manifest = std::make_unique<ManifestWriter>(environment.device, superblock.uuid, superblock.manifest,
                                                   content->end, content->next_record);
  co_return std::unique_ptr<VersionSet>(
      new VersionSet(environment, std::move(manifest), *content, version, std::move(tables)));
}

std::shared_ptr<const Version> VersionSet::current() const {
  const std::lock_guard lock(current_mutex_);
  return current_;
}

std::vector<Extent> VersionSet::manifest_extents() const {
  const std::lock_guard lock(current_mutex_);
  return manifest_extents_;
}

size_t VersionSet::replaced_tables_held() const {
  size_t named = 0;
  const std::shared_ptr<const Version> version = current();
  version->ForEachTable([&](const LiveTable&) { named++; });
  version->ForEachBufferedView([&](uint32_t, const BufferedView&) { named++; });
  const size_t installed = tables_->installed_count();
  return installed > named ? installed - named : 0;
}

TableId VersionSet::NewTableId() {
  const TableId id(next_table_id_.fetch_add(1));
  Check(id.value < table_id_limit_.load(), "a table id was asked for that no durable record covers");
  return id;
}

void VersionSet::Complete(VersionEdit& edit) {
  const VersionCounters& now = current_->counters();
  AddHolesFor(*current_, edit);
  InstallStamp stamp = now.next_stamp;
  for (VersionEdit::AddedTable& added : edit.added_tables) {
    if (added.stamp == InstallStamp()) {
      added.stamp = stamp;
      stamp = stamp.Next();
    }
    if (added.view.stamp == InstallStamp()) {
      added.view.stamp = added.stamp;
    }
  }
  for (VersionEdit::BufferElement& element : edit.buffer_elements) {
    element.stamp = stamp;
    stamp = stamp.Next();
  }
  edit.next_stamp.reset();
  if (stamp != now.next_stamp) {
    edit.next_stamp = stamp;
  }
  edit.next_table_id.reset();
  const uint64_t next_id = next_table_id_.load();
  if (!edit.clean && now.next_table_id.value < next_id + kTableIdsAhead / 2) {
    edit.next_table_id = TableId(next_id + kTableIdsAhead);
  }
  DropIfPassed(edit.log_start, now.log_start);
  DropIfPassed(edit.last_sequence, now.last_sequence);
  DropIfPassed(edit.epoch, now.epoch);
  DropIfPassed(edit.next_wal_segment, now.next_wal_segment);
}

Task<Result<std::shared_ptr<const Version>>> VersionSet::Install(VersionEdit edit) {
  const AsyncMutex::Guard guard = co_await install_mutex_.Lock();
  if (!failure_.ok()) {
    co_return failure_.error();
  }
  const bool recorded = !edit.ChangesOnlyBuffers();
  if (recorded) {
    Complete(edit);
  }
  Result<Version> applied = ApplyVersionEdit(*current_, edit, *tables_);
  if (!applied.ok()) {
    co_return applied.error();
  }
  if (!recorded) {
    co_return Publish(edit, std::move(applied).value());
  }
  const Status recovered = co_await MakeRecoveredDurable();
  if (!recovered.ok()) {
    co_return Failed(recovered.error());
  }
  const std::string encoded = EncodeVersionEdit(edit);
  if (!clean_end_ || !manifest_->Fits(encoded.size())) {
    Status rolled = co_await RollLocked(encoded.size());
    if (!rolled.ok()) {
      co_return rolled.error();
    }
  }
  if (!manifest_->Fits(encoded.size())) {
    co_return NoSpace(fmt::format("an edit of {} bytes does not fit into a manifest", encoded.size()));
  }
  Status appended = co_await manifest_->Append(encoded);
  if (!appended.ok()) {
    co_return Failed(appended.error());
  }
  co_return Publish(edit, std::move(applied).value());
}

std::shared_ptr<const Version> VersionSet::Publish(const VersionEdit& edit, Version applied) {
  for (const VersionEdit::AddedTable& added : edit.added_tables) {
    tables_->MarkInstalled(added.view.id, added.view.generation);
  }
  auto version = std::make_shared<const Version>(std::move(applied));
  if (!edit.buffer_elements.empty() || !edit.trimmed_views.empty()) {
    version->ForEachBufferedView([this](uint32_t, const BufferedView& view) {
      tables_->MarkInstalled(view.table->id(), view.table->generation());
    });
  }
  table_id_limit_.store(version->counters().next_table_id.value);
  SetCurrent(version);
  if (environment_.installs != nullptr) {
    environment_.installs->OnInstalled(version, edit);
  }
  return version;
}

Task<Status> VersionSet::MakeRecoveredDurable() {
  if (recovered_is_durable_) {
    co_return OkStatus();
  }
  // First the superblock: without it, nobody would find the record.
  Status status = co_await environment_.superblocks.MakeDurable();
  if (status.ok() && recovered_edit_.has_value()) {
    status = co_await manifest_->WriteLastAgain(*recovered_edit_);
  }
  if (status.ok()) {
    recovered_is_durable_ = true;
    recovered_edit_.reset();
  }
  co_return status;
}

Task<Status> VersionSet::Roll() {
  const AsyncMutex::Guard guard = co_await install_mutex_.Lock();
  if (!failure_.ok()) {
    co_return failure_;
  }
  const Status recovered = co_await MakeRecoveredDurable();
  if (!recovered.ok()) {
    co_return Failed(recovered.error());
  }
  co_return co_await RollLocked(0);
}

Task<Result<std::vector<std::string>>> VersionSet::VerifyOnDevice() {
  const AsyncMutex::Guard guard = co_await install_mutex_.Lock();
  std::vector<std::string> problems;
  SuperblockStore superblocks(environment_.device);
  const Result<Superblock> superblock = co_await superblocks.Load();
  if (!superblock.ok() && superblock.Is(ErrorCode::kDeviceError)) {
    co_return superblock.error();
  }
  problems = superblocks.problems();
  if (!superblock.ok()) {
    problems.push_back(superblock.error().message());
  }
  // What is in memory names the manifest also where no superblock does.
  ManifestVisitor no_visitor;
  const auto tables = std::make_shared<LiveTables>(nullptr);
  const Result<ManifestContent> content =
      co_await ReadManifest(environment_.device, environment_.superblocks.current(), *tables, no_visitor);
  if (content.Is(ErrorCode::kDeviceError)) {
    co_return content.error();
  }
  if (!content.ok()) {
    problems.push_back("manifest: " + content.error().message());
  } else if (failure_.ok() && content->version.ToString() != current_->ToString()) {
    problems.push_back("manifest: what is on the device is not what was written last");
  }
  co_return problems;
}

Task<Status> VersionSet::RollLocked(size_t room_for_edit_bytes) {
  const Superblock& superblock = environment_.superblocks.current();
  Result<std::unique_ptr<ManifestWriter>> next =
      co_await ManifestWriter::Create(environment_.device, environment_.allocator, superblock.uuid,
                                      superblock.manifest.number + 1, *current_, room_for_edit_bytes);
  if (!next.ok() && next.error().code() == ErrorCode::kNoSpace) {
    co_return next.error();
  }
  if (!next.ok()) {
    co_return Failed(next.error());
  }
  Superblock named = superblock;
  named.manifest = (*next)->location();
  Status flipped = co_await environment_.superblocks.Update(std::move(named));
  if (!flipped.ok()) {
    co_return Failed(flipped.error());
  }
  environment_.allocator.Release(manifest_->location().extents);
  manifest_ = std::move(next).value();
  clean_end_ = true;
  const std::lock_guard lock(current_mutex_);
  manifest_extents_ = manifest_->location().extents;
  co_return OkStatus();
}

Error VersionSet::Failed(const Error& cause) {
  failure_ = ReadOnly(fmt::format("the manifest could not be written: {}", cause.ToString()));
  tables_->StopReporting();
  environment_.logger.Log(LogLevel::kError, failure_.error().message());
  return cause;
}

void VersionSet::SetCurrent(std::shared_ptr<const Version> version) {
  {
    const std::lock_guard lock(current_mutex_);
    std::swap(current_, version);
  }
  // The replaced one goes here, outside the lock: its tables may be reported as released.
}

}  // namespace varve
