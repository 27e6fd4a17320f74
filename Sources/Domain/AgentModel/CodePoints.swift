/// Compares two strings code point by code point, as OAuth and OpenID Connect compare identifiers (OpenID Connect Core
/// §14). Swift's `==` treats canonically equivalent strings as equal.
public func equalCodePoints(_ a: String, _ b: String) -> Bool {
  guard a.utf8.count == b.utf8.count else { return false }
  // The views alone are slow, and a start compares four texts of each account.
  let inPlace = a.utf8.withContiguousStorageIfAvailable { a in
    b.utf8.withContiguousStorageIfAvailable { b in a.elementsEqual(b) }
  }
  return inPlace.flatMap { $0 } ?? a.utf8.elementsEqual(b.utf8)
}

/// The same for what may be missing.
public func equalCodePoints(_ a: String?, _ b: String?) -> Bool {
  switch (a, b) {
  case (let a?, let b?): equalCodePoints(a, b)
  case (nil, nil): true
  case (nil, _?), (_?, nil): false
  }
}

/// A text that is equal to no other text: two canonically equivalent strings (é as one code point, or as two) are two
/// names. For sets and for keys of dictionaries, where Swift would compare strings by their meaning.
public struct ExactText: Hashable, Comparable, Sendable {
  public let text: String

  public init(_ text: String) { self.text = text }

  public static func == (a: Self, b: Self) -> Bool { equalCodePoints(a.text, b.text) }

  public func hash(into hasher: inout Hasher) {
    var text = text
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    // No UTF-8 has this byte, so that two texts in a row are not as one.
    hasher.combine(UInt8(0xFF))
  }

  public static func < (a: Self, b: Self) -> Bool { a.text.utf8.lexicographicallyPrecedes(b.text.utf8) }
}

extension Set<String> {
  /// True if the set has this text, code point by code point: `contains` also takes a canonically equivalent one, such as the
  /// sign of Kelvin for a K.
  public func containsExactly(_ text: String) -> Bool {
    firstIndex(of: text).map { equalCodePoints(self[$0], text) } ?? false
  }
}
