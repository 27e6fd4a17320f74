internal import Foundation
internal import SchemaKit

/// Compares a line with a pattern. Numbers are compared as written: `1.0` is not `1`.
struct Matcher {
  let isSubset: Bool
  private(set) var bindings: Bindings
  /// The mismatches, by JSON Pointer; empty if the line matches.
  private(set) var misfits: [Problem] = []

  init(isSubset: Bool, bindings: Bindings) {
    self.isSubset = isSubset
    self.bindings = bindings
  }

  /// The bindings after a match, or the mismatches.
  static func match(
    _ pattern: Pattern, _ value: JSONValue, isSubset: Bool, bindings: Bindings
  ) -> Result<Bindings, Misfit> {
    var matcher = Matcher(isSubset: isSubset, bindings: bindings)
    matcher.match(pattern, value, "")
    return matcher.misfits.isEmpty ? .success(matcher.bindings) : .failure(Misfit(problems: matcher.misfits))
  }

  struct Misfit: Error { var problems: [Problem] }

  private mutating func match(_ pattern: Pattern, _ value: JSONValue, _ pointer: String) {
    switch pattern {
    case .value(let expected):
      if expected != value { misfits.append(Problem(pointer, "expected \(expected.compact), got \(value.compact)")) }
    case .placeholder(let placeholder):
      if let reason = take(placeholder, value) { misfits.append(Problem(pointer, reason)) }
    case .array(let patterns):
      guard let elements = value.elements, elements.count == patterns.count else {
        return misfits.append(Problem(pointer, "expected an array of \(patterns.count), got \(value.compact)"))
      }
      for (index, (pattern, element)) in zip(patterns, elements).enumerated() {
        match(pattern, element, pointer + "/\(index)")
      }
    case .object(let patterns, let isOpen):
      guard let members = value.members else {
        return misfits.append(Problem(pointer, "expected an object, got \(value.compact)"))
      }
      for (name, pattern) in patterns {
        if let found = value[name] {
          match(pattern, found, pointer + "/" + name)
        } else {
          misfits.append(Problem(pointer + "/" + name, "is missing"))
        }
      }
      guard !isSubset, !isOpen else { return }
      for member in members where !patterns.contains(where: { $0.name == member.name }) {
        misfits.append(Problem(pointer + "/" + member.name, "was not expected: \(member.value.compact)"))
      }
    }
  }

  /// Nil if the value matches.
  private mutating func take(_ placeholder: Pattern.Placeholder, _ value: JSONValue) -> String? {
    switch placeholder {
    case .any: return nil
    case .string: return value.string == nil ? "expected a string, got \(value.compact)" : nil
    case .int: return value.integer == nil ? "expected an integer, got \(value.compact)" : nil
    case .instant:
      let instant = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/
      return value.string?.wholeMatch(of: instant) == nil ? "expected an instant, got \(value.compact)" : nil
    case .regex(let expression):
      guard let regex = try? Regex(expression) else { return "\(expression) is no regular expression" }
      guard let text = value.string, (try? regex.wholeMatch(in: text)) != nil else {
        return "expected a match of \(expression), got \(value.compact)"
      }
      return nil
    case .ref(let name):
      guard let known = bindings[name] else { return "nothing is remembered as \(name)" }
      return known == value ? nil : "expected \(name), which is \(known.compact), got \(value.compact)"
    case .bind(let name), .secret(let name):
      let isSecret = placeholder == .secret(name)
      if isSecret, value.string?.isEmpty ?? true { return "expected a secret, got \(value.compact)" }
      guard let known = bindings[name], known != value else {
        bindings.bind(name, value, isSecret: isSecret)
        return nil
      }
      // A secret is never printed, not even a wrong one.
      return isSecret
        ? "is not the secret \(name)" : "expected \(name), which is \(known.compact), got \(value.compact)"
    }
  }
}
