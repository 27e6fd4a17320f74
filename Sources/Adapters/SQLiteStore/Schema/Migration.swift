/// A step of the schema. Steps are only appended: an installed agent may stand at any of them.
package struct Migration: Sendable {
  /// `user_version` after this step; its position in `all`, counted from 1.
  package let version: Int
  /// The tables and indexes that this step creates and no later step drops.
  let makes: Set<String>
  package let sql: String

  package static let all: [Migration] = [.version1]

  static let objects = all.reduce(into: Set<String>()) { $0.formUnion($1.makes) }
}
