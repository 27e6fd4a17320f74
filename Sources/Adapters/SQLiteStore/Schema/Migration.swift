/// A step of the schema. Steps are only ever appended: an installed agent may stand at any of them.
struct Migration: Sendable {
  /// What `user_version` is after it; the place in `all`, from 1.
  let version: Int
  /// The tables and indexes that it makes, and that are there ever after.
  let makes: Set<String>
  let sql: String

  static let all: [Migration] = [.version1, .version2]

  static let objects = all.reduce(into: Set<String>()) { $0.formUnion($1.makes) }
}
