internal import AgentModel
internal import JSONRPC

/// Reads the members of a policy document and collects problems, so that one pass reports all of them.
struct PolicyReader {
  /// Upper bound for a duration: ten years.
  static let longestSeconds: Int64 = 315_576_000

  var problems = PolicyProblems()

  /// A value and its JSON Pointer in the document.
  struct Place {
    var node: JSONNode
    var pointer: String

    func below(_ key: String) -> String { pointer + JSONPointer.step(to: key) }

    /// The members of an object. The scanner has refused duplicate names.
    var members: [(key: String, place: Place)] {
      node.members.compactMap { key, value in
        key.string.map { ($0, Place(node: value, pointer: below($0))) }
      }
    }

    var elements: [Place] {
      node.elements.enumerated().map { Place(node: $1, pointer: pointer + "/\($0)") }
    }

    subscript(_ name: StaticString) -> Place? {
      node[name].map { Place(node: $0, pointer: below(String(describing: name))) }
    }
  }

  /// Reports unknown and missing members; false if the value is no object. It visits each member once, so a document
  /// with 100,000 unknown members takes time linear in its length.
  mutating func isObject(_ place: Place, may: [String], must: [String] = []) -> Bool {
    guard place.node.kind == .object else {
      problems.add(place.pointer, "This must be an object.")
      return false
    }
    var missing = must
    for (key, _) in place.node.members {
      guard let name = key.string else { continue }
      if let index = missing.firstIndex(of: name) {
        missing.remove(at: index)
      } else if !may.contains(name) && !must.contains(name) {
        problems.add(
          place.below(name), "There is no such member here. Known: \((must + may).sorted().joined(separator: ", ")).")
      }
    }
    for name in missing { problems.add(place.pointer, "The member `\(name)` is missing.") }
    return true
  }

  /// `most` is in Unicode code points, as in JSON Schema 2020-12 §6.3.1.
  mutating func text(
    _ place: Place?, most: Int, _ what: String = "a text", where isGood: (String) -> Bool = { _ in true }
  ) -> String? {
    guard let place else { return nil }
    guard let text = place.node.string, text.unicodeScalars.count <= most, isGood(text) else {
      problems.add(place.pointer, "This must be \(what).")
      return nil
    }
    return text
  }

  mutating func texts(
    _ place: Place?, most: Int, ofLength length: Int, _ what: String, where isGood: (String) -> Bool = { !$0.isEmpty }
  ) -> [String]? {
    guard let place else { return nil }
    let elements = place.elements
    guard place.node.kind == .array, (1...most).contains(elements.count) else {
      problems.add(place.pointer, "This must be a list of 1 to \(most).")
      return nil
    }
    return elements.compactMap { text($0, most: length, what, where: isGood) }
  }

  mutating func integer(_ place: Place?, in range: ClosedRange<Int64>) -> Int64? {
    guard let place else { return nil }
    guard let value = place.node.integer, range.contains(value) else {
      problems.add(place.pointer, "This must be a whole number from \(range.lowerBound) to \(range.upperBound).")
      return nil
    }
    return value
  }

  mutating func seconds(
    _ place: Place?, from least: Int64 = 0, to most: Int64 = PolicyReader.longestSeconds
  ) -> Milliseconds? {
    integer(place, in: least...most).map(Milliseconds.seconds)
  }

  mutating func word<Word: RawRepresentable & CaseIterable>(
    _ place: Place?, as type: Word.Type
  ) -> Word? where Word.RawValue == String {
    guard let place else { return nil }
    guard let word = Word.allCases.first(where: { $0.rawValue == place.node.string }) else {
      problems.add(place.pointer, "This must be one of: \(Word.allCases.map(\.rawValue).joined(separator: ", ")).")
      return nil
    }
    return word
  }
}
