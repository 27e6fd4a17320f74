import AgentCore
import AgentModel
import AgentOAuth
import AgentSimulation
import Secrets
import Testing

/// What the lenient readers find in documents with other people's tokens, persons and keys in them, whole, cut and
/// damaged. `Tests/Fuzz` tries the same with bytes of any kind.
@Suite struct LenientReaderProperties {
  static let seeds = UInt64(0)..<300

  /// Alice's token stands at the top; Bob's are below it, in lists, and in texts.
  @Test(arguments: seeds) func refreshTokenOfADamagedAnswer_isNeverANestedOne(seed: UInt64) {
    var author = Author(seed: seed)
    let whole = author.object(
      ["refresh_token": "rt-alice", "access_token": "at-alice"], aside: "refresh_token", "rt-bob")
    #expect(found(in: whole) == "rt-alice", "seed \(seed)")
    for _ in 0..<20 {
      let body = author.damaged(whole)
      #expect(["rt-alice", nil].contains(found(in: body)), "seed \(seed): \(String(decoding: body, as: UTF8.self))")
    }
    for end in whole.indices {
      #expect(["rt-alice", nil].contains(found(in: Array(whole[..<end]))), "seed \(seed), \(end) bytes")
    }
  }

  /// An actor (RFC 8693 §4.1) and other objects name others.
  @Test(arguments: seeds) func ownerOfADamagedToken_isNeverANestedPerson(seed: UInt64) {
    var author = Author(seed: seed)
    let whole = author.object(["sub": "alice", "iss": "https://idp.test"], aside: "sub", "bob")
    #expect(owner(of: whole).subjects == ["alice"], "seed \(seed)")
    for _ in 0..<20 {
      let read = owner(of: author.damaged(whole))
      #expect(read.subjects.allSatisfy { $0 == "alice" }, "seed \(seed)")
      #expect(read.issuers.allSatisfy { $0 == "https://idp.test" }, "seed \(seed)")
    }
    // A member that another person's name is put into is another person.
    let two = Array(#"{"sub":"bob","#.utf8) + whole.drop { $0 != UInt8(ascii: "{") }.dropFirst()
    #expect(owner(of: two).change(fromIssuer: { _ in true }, subject: "alice") == .subjectChanged, "seed \(seed)")
  }

  /// Keys of other kinds, broken ones and what is no key stand between the good ones.
  @Test(arguments: seeds) func keysOfASet_areItsGoodOnes_whateverStandsBetween(seed: UInt64) throws {
    var author = Author(seed: seed)
    var members: [String] = []
    var expected: [PublicKey] = []
    for number in 0..<author.below(12) {
      members += (0..<author.below(4)).map { _ in author.noKey() }
      let bytes = (0..<32).map { _ in UInt8(author.below(256)) }
      members.append(author.key("k\(number)", bytes))
      expected.append(.ed25519(x: bytes))
    }
    members += (0..<author.below(4)).map { _ in author.noKey() }
    let text = Array(#"{"keys":[\#(members.joined(separator: ","))]}"#.utf8)
    let set = try text.withUnsafeBytes { (bytes) throws(IDTokenFailure) in try JWKSet(parsing: bytes) }
    #expect(set.keys.map(\.publicKey) == expected, "seed \(seed): \(String(decoding: text, as: UTF8.self))")
    #expect(set.keys.map(\.keyID) == expected.indices.map { "k\($0)" }, "seed \(seed)")
    // A set that was cut is none.
    let cut = Array(text[..<author.below(text.count)])
    #expect(throws: IDTokenFailure.keySetMalformed) {
      try cut.withUnsafeBytes { (bytes) throws(IDTokenFailure) in try JWKSet(parsing: bytes) }
    }
  }

  private func found(in body: [UInt8]) -> String? {
    TokenResponse(body: .of(body))?.refreshToken?.withBytes { String(decoding: $0, as: UTF8.self) }
  }

  private func owner(of claims: [UInt8]) -> IDTokenOwner {
    let token = Array("e30.\(Base64URL.encode(claims)).c2ln".utf8)
    return token.withUnsafeBytes { IDTokenOwner(of: $0) }
  }

  /// Writes documents by a seed.
  struct Author {
    private var random: SeededRandom

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    mutating func below(_ bound: Int) -> Int { Int(random.next() % UInt64(bound)) }

    private mutating func one<Element>(of list: [Element]) -> Element { list[below(list.count)] }

    private mutating func blank() -> String { one(of: ["", "", "", " ", "\n", "\t \r\n"]) }

    /// An object with these members in some order, among others in which `name` belongs to someone else.
    mutating func object(_ members: [String: String], aside name: String, _ other: String) -> [UInt8] {
      var written = members.sorted { $0.key < $1.key }.map { #""\#($0.key)"\#(blank()):\#(blank())"\#($0.value)""# }
      for number in 0..<below(6) { written.append(#""x\#(number)":"# + aside(name, other, depth: 0)) }
      written.shuffle(using: &random)
      return Array((blank() + "{" + written.joined(separator: "\(blank()),") + "}").utf8)
    }

    private mutating func aside(_ name: String, _ other: String, depth: Int) -> String {
      let member = #""\#(name)":"\#(other)""#
      switch below(depth > 4 ? 5 : 8) {
      case 0: return "{\(member)}"
      case 1: return #"" {\"\#(name)\":\"\#(other)\"} ""#
      case 2: return #"["\#(name)","\#(other)"]"#
      case 3: return one(of: ["null", "true", "-1.5e3", #""\\""#, #""}\u007b""#, "[]", "{}"])
      case 4: return String(repeating: "[", count: 90) + "{\(member)}" + String(repeating: "]", count: 90)
      case 5: return "[\(aside(name, other, depth: depth + 1)),{\(member)}]"
      case 6: return #"{"a":\#(aside(name, other, depth: depth + 1)),\#(member)}"#
      default: return #"{"\#(name)":{"\#(name)":"\#(other)"}}"#
      }
    }

    /// Without its end, with bytes that are no UTF-8 in a text, or with both.
    mutating func damaged(_ whole: [UInt8]) -> [UInt8] {
      var bytes = whole
      if below(2) == 0, let place = bytes.firstIndex(of: UInt8(ascii: "x")) { bytes.insert(0xFF, at: place) }
      if below(3) > 0 { bytes = Array(bytes[..<below(bytes.count + 1)]) }
      return bytes
    }

    mutating func key(_ name: String, _ bytes: [UInt8]) -> String {
      var text = Base64URL.encode(bytes)
      if below(2) == 0 { text = text.replacing("-", with: "+").replacing("_", with: "/") }
      text += one(of: ["", "=", "\\n"])
      let more = one(of: [
        "", #","use":"sig""#, #","use":null,"alg":null"#, #","key_ops":["verify"]"#, #","x5c":["x"],"alg":"""#,
      ])
      return #"{"kty":"OKP","crv":"Ed25519","kid":"\#(name)","x":"\#(text)"\#(more)}"#
    }

    mutating func noKey() -> String {
      one(of: [
        "null", "7", #""k""#, "[]", "{}", #"{"kty":"oct","k":"AQ","kid":"k0"}"#, #"{"kty":null,"kid":"k1"}"#,
        #"{"kty":"OKP","crv":"X25519","x":"Aw"}"#, #"{"kty":"OKP","crv":"Ed25519","x":"*"}"#,
        #"{"kty":"OKP","crv":"Ed25519","x":"Aw","use":"enc"}"#, #"{"kty":"EC","crv":"P-256","x":"AQ"}"#,
        #"{"kty":"OKP","crv":"Ed25519","x":"Aw","x":"BA"}"#, #"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"Aw"}]}"#,
      ])
    }
  }
}
