internal import AgentModel
public import JSONRPC

/// A policy document of operations of a service, for a person who names what a program may do (docs/offline.md, Drafts).
public struct DraftedPolicy: Hashable, Sendable {
  /// The policy's name.
  public let name: String
  /// The agent takes no other document with the version of the one that is there.
  public let version: Int64
  /// The service's own name, for the description.
  private let title: String
  /// Ordered by name.
  private let capabilities: [Entry]
  private let perHour: Int64?
  private let onlineWithinSeconds: Int64

  private struct Entry: Hashable, Sendable {
    var operation: CatalogueEntry.Operation
    var asks: Bool
  }

  /// Why there is no draft. An index is that of the list in which the unknown word stands.
  public enum Refusal: Error, Hashable, Sendable {
    case noOperations
    case unknownAllowed(Int)
    case unknownConfirmed(Int)
    /// A budget is from 1 to `PolicyDocument.mostBudget`.
    case budget
  }

  /// A confirmation serves for the requests of a minute: the time in which a program does one thing.
  private static let confirmedSeconds: Int64 = 60
  /// How old the provider's confirmation may be: a request needs the network anyway, and what ended at the provider is
  /// refused there.
  private static let onlineSeconds: Int64 = 86_400

  /// Drafts a policy of the operations that `allow` and `confirm` name: each by its name, or all of a kind by `read`,
  /// `write` or `delete`. The person is asked before those of `confirm`. Each may be used `perHour` times an hour.
  ///
  /// - Parameter replaced: the version of the policy that has this name already.
  public init(
    _ entry: CatalogueEntry, named name: String, replacing replaced: Int64? = nil, allow: [String],
    confirm: [String] = [], perHour: Int64? = nil
  ) throws(Refusal) {
    guard !entry.operations.isEmpty else { throw .noOperations }
    if let perHour, !(1...PolicyDocument.mostBudget).contains(perHour) { throw .budget }
    var meant: [String: Entry] = [:]
    for (index, word) in allow.enumerated() {
      let operations = entry.operations(meantBy: word)
      guard !operations.isEmpty else { throw .unknownAllowed(index) }
      for operation in operations { meant[operation.name] = Entry(operation: operation, asks: false) }
    }
    for (index, word) in confirm.enumerated() {
      let operations = entry.operations(meantBy: word)
      guard !operations.isEmpty else { throw .unknownConfirmed(index) }
      for operation in operations { meant[operation.name] = Entry(operation: operation, asks: true) }
    }
    self.name = name
    version = min(replaced ?? 0, PolicyDocument.latestVersion - 1) + 1
    title = entry.title
    capabilities = meant.values.sorted { $0.operation.name < $1.operation.name }
    self.perHour = perHour
    onlineWithinSeconds = entry.confirms ? Self.onlineSeconds : PolicyReader.longestSeconds
  }

  /// The document, for `policy.set`.
  public var document: RawJSON {
    RawJSON { writer in
      writer.beginObject()
      writer.member("name", name)
      writer.member("version", version)
      writer.member("description", "What programs may do at \(title).")
      writer.key("capabilities")
      writer.beginObject()
      for entry in capabilities { write(entry, to: &writer) }
      writer.endObject()
      writer.endObject()
    }
  }

  private func write(_ entry: Entry, to writer: inout JSONWriter) {
    let operation = entry.operation
    writer.key(operation.name)
    writer.beginObject()
    writer.member("kind", (operation.kind == .read ? Capability.Kind.read : .write).rawValue)
    writer.member("onlineWithinSeconds", onlineWithinSeconds)
    if entry.asks {
      writer.key("stepUp")
      writer.beginObject()
      writer.member("method", StepUpMethod.pinentry.rawValue)
      writer.member("maxAgeSeconds", Self.confirmedSeconds)
      writer.endObject()
    }
    if let perHour {
      writer.key("budget")
      writer.beginObject()
      writer.member("perHour", perHour)
      writer.endObject()
    }
    writer.key("requests")
    writer.beginArray()
    writer.beginObject()
    writer.member("origin", operation.origin)
    writer.member("methods", operation.methods)
    writer.member("path", operation.path)
    writer.endObject()
    writer.endArray()
    writer.endObject()
  }
}

extension CatalogueEntry {
  /// The operation with this name, or all of a kind.
  func operations(meantBy word: String) -> [Operation] {
    if let kind = Operation.Kind(rawValue: word) { return operations.filter { $0.kind == kind } }
    return operations.filter { $0.name == word }
  }
}
