/// Compares two strings code point by code point, as OAuth and OpenID Connect compare identifiers (OpenID Connect Core
/// §14). Swift's `==` treats canonically equivalent strings as equal.
public func equalCodePoints(_ a: String, _ b: String) -> Bool { a.utf8.elementsEqual(b.utf8) }
