internal import Foundation
internal import SchemaKit

/// Writes the expectation that a received line would match, for a person to review.
///
/// Placeholders that still match are kept. New values are written as they are, except values that differ in each run,
/// which get a placeholder.
struct Rewriting {
  let bindings: Bindings

  func text(of pattern: Pattern?, _ value: JSONValue, isSubset: Bool) -> String {
    rewritten(pattern, value, member: "", isSubset: isSubset).compact
  }

  private func rewritten(_ pattern: Pattern?, _ value: JSONValue, member: String, isSubset: Bool) -> JSONValue {
    switch (pattern, value) {
    case (.placeholder(let placeholder)?, _)
    where (try? Matcher.match(.placeholder(placeholder), value, isSubset: false, bindings: bindings).get()) != nil:
      return .string(placeholder.text)
    case (.object(let patterns, let isOpen)?, .object(let members)):
      let kept = members.filter { member in
        !(isSubset || isOpen) || patterns.contains { $0.name == member.name }
      }
      return .object(
        kept.map { found in
          let known = patterns.first { $0.name == found.name }?.pattern
          return JSONMember(found.name, rewritten(known, found.value, member: found.name, isSubset: isSubset))
        })
    case (.array(let patterns)?, .array(let elements)):
      return .array(
        elements.enumerated().map { index, element in
          rewritten(
            patterns.indices.contains(index) ? patterns[index] : nil, element, member: member, isSubset: isSubset)
        })
    case (_, .object(let members)):
      return .object(
        members.map { JSONMember($0.name, rewritten(nil, $0.value, member: $0.name, isSubset: isSubset)) })
    case (_, .array(let elements)):
      return .array(elements.map { rewritten(nil, $0, member: member, isSubset: isSubset) })
    case (.value(let known)?, _) where known == value: return value
    default: return standIn(for: value, member: member)
    }
  }

  /// Replaces values that differ in each run.
  private func standIn(for value: JSONValue, member: String) -> JSONValue {
    // The number of events and the jitter of a pause are not the subject of a script.
    if member == "sequence" || member == "retryAfterMs" { return .string("$int") }
    guard let text = value.string else { return value }
    if let name = bindings.name(of: value) { return .string("$ref:" + name) }
    switch member {
    case "accessToken": return .string("$secret:" + secretName(of: value))
    case "message", "schemaDigest", "fingerprint", "version", "expected", "endSessionUrl": return .string("$string")
    case "nextAttemptAt": return .string("$instant")
    default: break
    }
    if text.wholeMatch(of: /[a-z]{3}_[a-z0-9]+/) != nil { return .string("$string") }
    return value
  }

  /// The name of this token, or the first unused one: `token1`, `token2`, …
  private func secretName(of value: JSONValue) -> String {
    var number = 1
    while let known = bindings["token\(number)"], known != value { number += 1 }
    return "token\(number)"
  }
}
