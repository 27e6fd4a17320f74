import AgentCore
import Secrets
import Testing

/// Signatures that `minisign` 0.11 made, of both algorithms.
@Suite struct MinisignTests {
  private static let content = Array(#"{"version":1,"policies":[]}"#.utf8)
  private static let key = "RWQ8i/3M2pN0R/PZpihWpux6jEc48kx1qdfymrlIkrgnWVzNMUoLy27A"
  private static let prehashed = """
    untrusted comment: signature from minisign secret key
    RUQ8i/3M2pN0R5nmMS1axmLsUsVz1+Fr/DnM8gI0empGS/C3lCtS2QdZ2DEVpmUszmhv8TMsBpoZnu7+WGi67rVbfVEgN4xmJgs=
    trusted comment: lanyard bundle 1
    v0YcIaqgCXnnQfZFqwtFCJVq1NvalmRUV3cajd7mQhZEicBCCbsUsToA2bgGTNzQcbEBTpmWvML/DwHk0dHbDA==

    """
  private static let legacy = """
    untrusted comment: signature from minisign secret key
    RWQ8i/3M2pN0RyTqaH+9TgnxHCfYz3o6uy5UPhRlOXXrR6YnQidb8bcNEtNFGizh30/7VygA8uoMUWNIUO4W20DNg/kJCUU+aAI=
    trusted comment: timestamp:1795660725\tfile:c.json
    5yCXH4oyQRx+PzrBnSaja9ugQkJOiUz2nrDB3xuF7fK42/yhh5wpvbSzcUICEotvZ4N35mfm6aN7qMdh7VI7DA==

    """

  private func refusal(
    _ signature: String, of content: [UInt8] = Self.content, by key: String = Self.key
  ) throws -> BundleRefusal? {
    let key = try #require(MinisignKey(key))
    return try #require(MinisignSignature(parsing: Array(signature.utf8))).refusal(
      of: content, by: key, verifies: { Ed25519.verifies($0, of: $1, by: key.bytes) },
      digest: { BLAKE2b.digest($0, count: 64) })
  }

  @Test(arguments: [prehashed, legacy, prehashed.replacing("\n", with: "\r\n"), String(legacy.dropLast())])
  func signatureOfMinisign_isGood(_ signature: String) throws { #expect(try refusal(signature) == nil) }

  @Test func keyOfTheFile_isTheKeyOfTheLine() throws {
    let file = "untrusted comment: minisign public key 477493DACCFD8B3C\n\(Self.key)\n"
    #expect(MinisignKey(file) == MinisignKey(Self.key))
    #expect(try #require(MinisignKey(file)).text == Self.key)
  }

  @Test(arguments: [prehashed, legacy])
  func changedContent_isRefused(_ signature: String) throws {
    #expect(try refusal(signature, of: Self.content + [0x20]) == .wrongSignature)
    #expect(try refusal(signature, of: []) == .wrongSignature)
  }

  @Test func changedTrustedComment_isRefused() throws {
    #expect(try refusal(Self.prehashed.replacing("bundle 1", with: "bundle 2")) == .wrongSignature)
    #expect(try refusal(Self.prehashed.replacing("bundle 1", with: "bundle 1 ")) == .wrongSignature)
  }

  @Test func otherUntrustedComment_saysNothing() throws {
    #expect(try refusal(Self.prehashed.replacing("signature from", with: "by")) == nil)
  }

  @Test func algorithmThatWasExchanged_isRefused() throws {
    // `RU` is `ED`, `RW` is `Ed`: the same signature under the other word.
    #expect(try refusal(Self.prehashed.replacing("\nRUQ8", with: "\nRWQ8")) == .wrongSignature)
    #expect(try refusal(Self.legacy.replacing("\nRWQ8", with: "\nRUQ8")) == .wrongSignature)
  }

  @Test func otherKey_isRefused() throws {
    let other = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3"
    #expect(try refusal(Self.prehashed, by: other) == .otherKey)
    // Another key that takes the id of this one.
    var bytes = Array(Self.key)
    bytes.swapAt(20, 21)
    #expect(try refusal(Self.prehashed, by: String(bytes)) == .wrongSignature)
  }

  @Test(
    arguments: [
      "", "\n\n\n\n", "untrusted comment: a\n", String(prehashed.dropLast(3)), prehashed + "more\n",
      prehashed.replacing("untrusted comment: ", with: "comment: "),
      prehashed.replacing("\ntrusted comment: ", with: "\n"),
      prehashed.replacing("\nRUQ8", with: "\nRXQ8"), prehashed.replacing("JgsI=", with: "JgsI"),
      prehashed.replacing("\nRUQ8", with: "\n RUQ8"), prehashed.replacing("bundle", with: "bun\0dle"),
      prehashed.replacing("bundle", with: String(repeating: "b", count: 20_000)),
    ])
  func textThatIsNoSignature_isNotRead(_ text: String) {
    guard text != Self.prehashed else { return }
    #expect(MinisignSignature(parsing: Array(text.utf8)) == nil)
  }

  @Test(
    arguments: [
      "", "RWQ", key + "A", String(key.dropLast()), key.replacing("RWQ", with: "RUQ"), "\(key)\n\(key)",
      "comment: x\n\(key)", " \(key)",
    ])
  func textThatIsNoKey_isNotRead(_ text: String) { #expect(MinisignKey(text) == nil) }
}
