public import JSONRPC

/// Compares policy documents as they were written.
public enum PolicyContent {
  /// True if both texts say the same: without regard to white space, escapes and the order of members. A text that is
  /// no JSON is the same as none.
  public static func isSame(_ a: RawJSON, _ b: RawJSON) -> Bool {
    a.withBytes { first in b.withBytes { second in isSame(first, second) } }
  }

  private static func isSame(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Bool {
    var (first, second) = (JSONTape(), JSONTape())
    guard (try? JSONScanner.scan(a, onto: &first)) != nil, (try? JSONScanner.scan(b, onto: &second)) != nil else {
      return false
    }
    return first.withRoot(of: a) { rootA in second.withRoot(of: b) { rootB in isSame(rootA, rootB) } }
  }

  private static func isSame(_ a: JSONNode, _ b: JSONNode) -> Bool {
    guard a.kind == b.kind else { return false }
    switch a.kind {
    case .object:
      let (first, second) = (members(a), members(b))
      guard first.count == second.count else { return false }
      return zip(first, second).allSatisfy { $0.name == $1.name && isSame($0.value, $1.value) }
    case .array:
      let (first, second) = (Array(a.elements), Array(b.elements))
      return first.count == second.count && zip(first, second).allSatisfy { isSame($0, $1) }
    case .string: return a.utf8 == b.utf8
    default: return a.raw.elementsEqual(b.raw)
    }
  }

  private static func members(_ node: JSONNode) -> [(name: String, value: JSONNode)] {
    node.members.map { ($0.key.string ?? "", $0.value) }.sorted { $0.name < $1.name }
  }
}
