import AgentModel
import Foundation
import JSONRPC
import SecretJSON
import Secrets

import AgentOAuth

/// A discovery document as a provider published it: a file of `Tests/Discovery`, with its source and date.
struct RecordedDocument {
  let name: String
  /// As the agent reads it.
  let metadata: ServerMetadata
  /// All of its members.
  let members: [String: Any]
  /// Members that the preset differs from, each with the reason.
  let exceptions: [String: String]

  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Discovery")

  /// The names of all recordings.
  static let names = ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [])
    .filter { $0.hasSuffix(".json") }.map { String($0.dropLast(5)) }.sorted()

  /// Nil if the file is no recording with a source and a date.
  init?(_ name: String) throws {
    self.name = name
    let data = try Data(contentsOf: Self.folder.appending(path: name + ".json"))
    guard let file = try JSONSerialization.jsonObject(with: data) as? [String: Any],
      let source = file["source"] as? String, source.hasPrefix("https://"),
      let date = file["date"] as? String, date.wholeMatch(of: /20\d\d-\d\d-\d\d/) != nil,
      let members = file["document"] as? [String: Any],
      let metadata = SecretJSON.read(
        Secret(text: String(decoding: data, as: UTF8.self)), { $0["document"].flatMap { ServerMetadata($0) } })
    else { return nil }
    self.members = members
    self.metadata = metadata
    exceptions = file["exceptions"] as? [String: String] ?? [:]
  }

  /// Nil if the document does not have the list.
  func list(_ member: String) -> [String]? { members[member] as? [String] }

  /// The issuer, of a tenant where the document names a placeholder.
  var issuer: String { metadata.issuer.replacing("{tenantid}", with: "common") }
}
