// The driver of the lenient readers: what reads providers' documents and answers as servers write them. It is compiled
// together with the readers and what they need into one module (Tests/Fuzz/run), and says by other means what each may
// find: a token must stand where its member is, a key must be in its document, and a person in the token.

import Foundation

/// Takes the place of the guarded memory of the product, which only the readers' callers need.
struct Secret {
  let bytes: [UInt8]
  init(copying bytes: UnsafeRawBufferPointer) { self.bytes = Array(bytes) }
  func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    bytes.withUnsafeBytes { body($0) }
  }
}

/// libFuzzer calls this for each input; a trap is a finding.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = UnsafeRawBufferPointer(start: start, count: count)
  let text = mended(bytes)
  token(in: bytes)
  owner(in: bytes, mended: text)
  keys(in: bytes)
  return 0
}

// MARK: encodings

/// The text with its encoding mended. It is UTF-8; JSON stays as it is; and each token and each person that it names stands
/// in the text as it came, decoded by another decoder.
private func mended(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
  var mended: [UInt8] = []
  MendedText.mend(bytes) { mended.append($0) }
  precondition(String(validating: mended, as: UTF8.self) != nil, "no UTF-8")
  if strict(bytes, { _ in true }) != nil { precondition(bytes.elementsEqual(mended), "JSON is changed") }
  precondition(MendedText.prefaceLength(of: bytes) <= bytes.count)
  let texts = mended.withUnsafeBytes { text in
    strict(text) { root in ["refresh_token", "sub"].flatMap { values(of: $0, in: root) ?? [] }.compactMap(\.text) }
  }
  let whole = decoded(bytes)
  for text in texts ?? [] where text.allSatisfy({ (0x20...0x7E).contains($0) && $0 != 0x5C && $0 != 0x22 }) {
    let plain = Array(String(decoding: text, as: UTF8.self).unicodeScalars)
    // An escape stands for a character that the text does not have.
    let isThere = whole.contains("\\") || whole.contains("\0") || whole.contains("\u{FEFF}") || contains(whole, plain)
    precondition(isThere, "a text that the document does not have")
  }
  return mended
}

/// The characters of a text, as UTF-16 if it says so and as UTF-8 otherwise.
private func decoded(_ bytes: UnsafeRawBufferPointer) -> [Unicode.Scalar] {
  let isPair = bytes.count >= 2 && (bytes[0] == 0) != (bytes[1] == 0)
  guard isPair || bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) else {
    return Array(String(decoding: bytes, as: UTF8.self).unicodeScalars)
  }
  let isBig = bytes[0] == 0 || bytes[0] == 0xFE
  let units = stride(from: 0, to: bytes.count - 1, by: 2).map { place in
    UInt16(bytes[place + (isBig ? 0 : 1)]) << 8 | UInt16(bytes[place + (isBig ? 1 : 0)])
  }
  return Array(String(decoding: units, as: UTF16.self).unicodeScalars)
}

private func contains(_ whole: [Unicode.Scalar], _ part: [Unicode.Scalar]) -> Bool {
  part.count <= whole.count && (0...whole.count - part.count).contains { whole[$0...].starts(with: part) }
}

// MARK: tokens

/// The refresh token that is found stands in the outermost object, or in the first object of an array, as the value of
/// its member: never another's that is nested, and never a part of one.
private func token(in bytes: UnsafeRawBufferPointer) {
  let found = LenientTokenReader.refreshToken(in: Secret(copying: bytes))
  let places = Outermost.texts(named: "refresh_token", in: bytes)
  if let found { precondition(places.contains { bytes[$0].elementsEqual(found.bytes) }, "another token") }
  // A text that can be read as a whole has the same one.
  if let told = strict(bytes, { root in values(of: "refresh_token", in: root.kind == .array ? first(root) : root) }) {
    if let found { precondition(told.allSatisfy { $0 == .text(found.bytes) }, "not what the document says") }
    let plain = told.first.flatMap { if case .text(let text) = $0 { text } else { nil } }
    if let plain, told.allSatisfy({ $0 == .text(plain) }), !plain.isEmpty,
      plain.allSatisfy({ (0x20...0x7E).contains($0) && $0 != 0x5C }), isUnescaped(plain, at: places, in: bytes)
    {
      precondition(found?.bytes == plain, "a token is not found")
    }
  }
  // A cut text has no token but one of the whole one.
  let cut = UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count - bytes.count / 3)])
  if let early = LenientTokenReader.refreshToken(in: Secret(copying: cut)) {
    precondition(places.contains { bytes[$0].elementsEqual(early.bytes) }, "a token that the whole text does not have")
  }
}

private func isUnescaped(_ text: [UInt8], at places: [Range<Int>], in bytes: UnsafeRawBufferPointer) -> Bool {
  !places.isEmpty && places.allSatisfy { bytes[$0].elementsEqual(text) } && !names(in: bytes).contains(0x5C)
}

/// The bytes of all names of the outermost object, one after the other.
private func names(in bytes: UnsafeRawBufferPointer) -> [UInt8] {
  LenientMembers(bytes).flatMap { Array(bytes[$0.name]) }
}

// MARK: persons

/// Whose a token is: all that it names at its top, and nobody else.
private func owner(in bytes: UnsafeRawBufferPointer, mended: [UInt8]) {
  _ = try? CompactJWT(parsing: bytes)
  let told = Base64URL.encode(bytes)
  var token = "e30." + told + ".c2ln"
  let owner = token.withUTF8 { IDTokenOwner(of: UnsafeRawBufferPointer($0)) }
  let named = mended.withUnsafeBytes { text in
    strict(text) { root in
      values(of: "sub", in: root).flatMap { subjects in values(of: "iss", in: root).map { (subjects, $0) } }
    }
  }
  guard let (subjects, issuers) = named else {
    // Each person of a broken token stands in it.
    let places = Outermost.texts(named: "sub", in: bytes).map { Array(bytes[$0]) }
    for subject in owner.subjects where !isNumber(subject) && !bytes.contains(0x5C) {
      precondition(
        places.contains { Array(String(decoding: $0, as: UTF8.self).utf8) == Array(subject.utf8) }, "another person")
    }
    return
  }
  let expected = subjects.compactMap(\.identity).filter { !$0.isEmpty }
  precondition(owner.subjects.map { Array($0.utf8) } == expected, "other persons than the token names")
  precondition(
    owner.issuers.map { Array($0.utf8) } == issuers.compactMap(\.text).filter { !$0.isEmpty },
    "other issuers than the token names")
  if let first = owner.subjects.first {
    let change = owner.change(fromIssuer: { _ in true }, subject: first)
    precondition((change == nil) == expected.allSatisfy { $0 == Array(first.utf8) }, "a change of person is missed")
  }
}

private func isNumber(_ text: String) -> Bool {
  text.utf8.first.map { $0 == UInt8(ascii: "-") || (0x30...0x39).contains($0) } ?? false
}

// MARK: keys

private let good = #"{"kty":"OKP","crv":"Ed25519","x":"AwMD","kid":"good"}"#

/// A key that is read is in the document, with just these bytes; and no member of a list hides a good key behind it.
private func keys(in bytes: UnsafeRawBufferPointer) {
  if let set = try? JWKSet(parsing: bytes), !set.keys.isEmpty {
    let document = try? JSONSerialization.jsonObject(with: Data(bytes))
    let listed = ((document as? [String: Any])?["keys"] as? [Any] ?? []).compactMap { $0 as? [String: Any] }
    for key in set.keys {
      precondition(listed.contains { describes($0, key) }, "a key that the document does not have")
    }
  }
  guard strict(bytes, { _ in true }) != nil else { return }
  var text = Array(#"{"keys":["#.utf8)
  text += bytes
  text += Array(",\(good)]}".utf8)
  guard text.count <= JWKSet.maximumBytes else { return }
  let set = text.withUnsafeBytes { try? JWKSet(parsing: $0) }
  // Only nesting beyond the bound of the whole text makes it unreadable.
  let isReadable = text.withUnsafeBytes { strict($0) { _ in true } } != nil
  precondition(!isReadable || set?.keys.contains { $0.keyID == "good" } == true, "a good key is hidden")
}

/// Read by another reader, of JSON and of Base64.
private func describes(_ node: [String: Any], _ key: JWKSet.Key) -> Bool {
  func bytes(_ name: String) -> [UInt8]? {
    guard let text = node[name] as? String else { return nil }
    var plain = text.filter { !" \t\r\n=".contains($0) && $0 != "\r\n" }
      .replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
    plain += String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4)
    return Data(base64Encoded: plain).map { Array($0) }
  }
  func isSame(_ name: String, _ number: [UInt8]) -> Bool {
    bytes(name).map { Array($0.drop { $0 == 0 }) == Array(number.drop { $0 == 0 }) } ?? false
  }
  guard (node["kid"] as? String).map({ Array($0.utf8) }) == key.keyID.map({ Array($0.utf8) }) else { return false }
  let (type, curve) = (node["kty"] as? String, node["crv"] as? String)
  switch key.publicKey {
  case .rsa(let modulus, let exponent):
    return type == "RSA" && isSame("n", modulus) && isSame("e", exponent)
  case .ellipticCurve(let named, let x, let y):
    return type == "EC" && curve == named.rawValue && isSame("x", x) && isSame("y", y)
  case .ed25519(let x): return type == "OKP" && curve == "Ed25519" && bytes("x") == x
  case .ed448(let x): return type == "OKP" && curve == "Ed448" && bytes("x") == x
  }
}

// MARK: the strict reader

private enum Value: Equatable {
  case text([UInt8]), number([UInt8]), other
  var text: [UInt8]? { if case .text(let text) = self { text } else { nil } }
  /// As a subject: a text, or the digits of a number.
  var identity: [UInt8]? {
    switch self {
    case .text(let text), .number(let text): text
    case .other: nil
    }
  }
}

/// Nil for a text that is no JSON.
private func strict<Result>(_ bytes: UnsafeRawBufferPointer, _ body: (JSONNode) -> Result?) -> Result? {
  var tape = JSONTape()
  guard (try? JSONScanner.scan(bytes, onto: &tape, duplicateKeys: .allowed)) != nil else { return nil }
  return tape.withRoot(of: bytes) { body($0) }
}

private func first(_ list: JSONNode) -> JSONNode? { list.elements.first { _ in true } }

/// Nil if it is no object.
private func values(of name: String, in node: JSONNode?) -> [Value]? {
  guard let node, node.kind == .object else { return nil }
  return node.members.filter { $0.key.utf8?.elementsEqual(name.utf8) == true }.map { _, value in
    switch value.kind {
    case .string: .text(value.utf8!)
    case .number: .number(Array(value.raw))
    default: .other
    }
  }
}

// MARK: the place of a member

/// Where the texts of a name stand in the outermost object, by one pass over the bytes that knows no grammar: it counts
/// brackets outside of quotes.
private enum Outermost {
  static func texts(named name: String, in bytes: UnsafeRawBufferPointer) -> [Range<Int>] {
    var found: [Range<Int>] = []
    var depth = 0
    var top: Int?
    var strings: [Range<Int>] = []
    var index = 0
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "\""):
        let start = index + 1
        index = start
        while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
          index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        guard index < bytes.count else { return found }
        if depth == top {
          if let before = strings.last, bytes[before].elementsEqual(name.utf8),
            isColon(bytes[before.upperBound..<start])
          {
            found.append(start..<index)
          }
          strings.append(start..<index)
        }
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        if top == nil, bytes[index] == UInt8(ascii: "{") { top = depth }
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        if depth == top { return found }
        depth -= 1
      default: break
      }
      index += 1
    }
    return found
  }

  /// What stands between two strings, their quotes included, is a colon with blanks around.
  private static func isColon(_ between: Slice<UnsafeRawBufferPointer>) -> Bool {
    let marks = between.dropFirst().dropLast().filter { $0 > 0x20 }
    return marks.elementsEqual([UInt8(ascii: ":")])
  }
}
