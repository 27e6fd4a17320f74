import CommandSupport
import Glibc
import JSONRPC

/// What `lanyard setup` wrote, so that `--undo` takes back exactly that: nothing that the person wrote alike.
struct SetupRecord {
  struct Entry: Equatable {
    var tool: String
    var url: String?
    var account: String?
    var roleARN: String?
    /// The places and lines of the changes that were made.
    var changes: [String]

    func isFor(_ tool: SetupTool, _ target: SetupTarget) -> Bool {
      self.tool == tool.rawValue && url == target.url && account == target.account && roleARN == target.roleARN
    }

    var target: SetupTarget { SetupTarget(url: url, account: account, roleARN: roleARN) }
  }

  private let path: String
  var entries: [Entry] = []

  init() throws(CommandFailure) {
    path = try SetupPlaces.configuration("lanyard/setup.json")
    let file = try SetupFile(path)
    guard !file.text.isEmpty else { return }
    guard let read = JSONInput.read(file.text, { $0["entries"].map { $0.elements.map(Self.entry) } }), let read else {
      throw StoreFile.malformed(path, "what `lanyard setup` wrote")
    }
    entries = read
  }

  static func name(of change: any SetupChange) -> String { "\(change.place): \(change.lines.joined(separator: "\n"))" }

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
      writer.member("roleArn", entry.roleARN)
      writer.member("changes", entry.changes)
      writer.endObject()
    }
    writer.endArray()
    writer.endObject()
    try file.replace(by: writer.withBytes { String(decoding: $0, as: UTF8.self) } + "\n")
  }

  private static func entry(_ node: JSONNode) -> Entry {
    Entry(
      tool: node["tool"]?.string ?? "", url: node["url"]?.string, account: node["account"]?.string,
      roleARN: node["roleArn"]?.string, changes: node["changes"]?.elements.compactMap(\.string) ?? [])
  }
}
