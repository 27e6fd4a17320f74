import CommandSupport
import Glibc
import JSONRPC

/// What `lanyard setup` wrote, so that `--undo` takes back exactly that: nothing that the person wrote alike.
struct SetupRecord {
  struct Entry: Equatable {
    var tool: String
    var url: String?
    var account: String?
    var accountID: String?
    var roleARN: String?
    var name: String?
    var project: String?
    var skill: AgentSkill?
    /// The identities of the changes that were made.
    var changes: [String]

    func isFor(_ tool: SetupTool, _ target: SetupTarget) -> Bool {
      self.tool == tool.rawValue && self.target == target
    }

    var target: SetupTarget {
      SetupTarget(url: url, account: account, roleARN: roleARN, name: name, project: project, skill: skill)
    }
  }

  private let path: String
  var entries: [Entry] = []
  /// The changes of files, oldest first.
  var edits: [FileEdit] = []

  init() throws(CommandFailure) {
    path = try SetupPlaces.configuration("lanyard/setup.json")
    let file = try SetupFile(path)
    guard !file.text.isEmpty else { return }
    let read = JSONInput.read(file.text) { root in
      root["entries"].map { ($0.elements.map(Self.entry), root["edits"]?.elements.compactMap { FileEdit($0) } ?? []) }
    }
    guard let read, let read else { throw StoreFile.malformed(path, "what `lanyard setup` wrote") }
    (entries, edits) = read
  }

  /// Runs `body` while no other `lanyard setup` writes.
  static func locked(_ body: () throws(CommandFailure) -> Void) throws(CommandFailure) {
    let directory = try SetupPlaces.configuration("lanyard")
    try SetupFile.makeDirectories(directory)
    let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    defer { close(descriptor) }
    guard descriptor >= 0, flock(descriptor, LOCK_EX) == 0 else {
      throw CommandFailure(
        .other, name: "output", "\(directory) can't be locked: \(SystemError.message(errno)). Nothing was changed.")
    }
    try body()
  }

  /// Removes the edits of changes that no entry has any more. The next edit of a file knows then that the file was new.
  mutating func forgetEdits() {
    let known = Set(entries.flatMap(\.changes))
    var newFiles: Set<String> = []
    for edit in edits where !known.contains(edit.change) && edit.isNewFile { newFiles.insert(edit.path) }
    edits.removeAll { !known.contains($0.change) }
    for index in edits.indices where newFiles.remove(edits[index].path) != nil { edits[index].isNewFile = true }
  }

  func write() throws(CommandFailure) {
    let file = try SetupFile(path)
    guard !entries.isEmpty else { return try file.replace(by: "") }
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("entries")
    writer.beginArray()
    for entry in entries {
      writer.beginObject()
      writer.member("tool", entry.tool)
      writer.member("url", entry.url)
      writer.member("account", entry.account)
      writer.member("accountId", entry.accountID)
      writer.member("roleArn", entry.roleARN)
      writer.member("name", entry.name)
      writer.member("project", entry.project)
      if let skill = entry.skill {
        writer.key("skill")
        writer.beginObject()
        writer.member("grant", skill.grant)
        writer.endObject()
      }
      writer.member("changes", entry.changes)
      writer.endObject()
    }
    writer.endArray()
    writer.key("edits")
    writer.beginArray()
    for edit in edits { edit.write(to: &writer) }
    writer.endArray()
    writer.endObject()
    try file.replace(by: writer.withBytes { String(decoding: $0, as: UTF8.self) } + "\n")
  }

  private static func entry(_ node: JSONNode) -> Entry {
    Entry(
      tool: node["tool"]?.string ?? "", url: node["url"]?.string, account: node["account"]?.string,
      accountID: node["accountId"]?.string,
      roleARN: node["roleArn"]?.string, name: node["name"]?.string, project: node["project"]?.string,
      skill: node["skill"].map { AgentSkill(grant: $0["grant"]?.string) },
      changes: node["changes"]?.elements.compactMap(\.string) ?? [])
  }
}
