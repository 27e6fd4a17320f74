import AgentCore
import AgentModel
import Testing

/// Names that a provider gives are compared byte for byte: two Unicode forms of one text are two names.
@Suite struct NameSetTests {
  static let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")

  @Test func twoUnicodeForms_areTwoNames() {
    #expect(Self.composed == Self.decomposed, "to Swift they are one")
    #expect(ExactText(Self.composed) != ExactText(Self.decomposed))
    let names = NameSet([Self.composed, Self.decomposed, Self.composed])
    #expect(names.count == 2)
    #expect(names.sorted().map { Array($0.utf8) } == [Self.decomposed, Self.composed].map { Array($0.utf8) })
    #expect(!NameSet([Self.composed]).contains(Self.decomposed) && NameSet([Self.composed]).contains(Self.composed))
    // U+212A is the Kelvin sign, which is canonically a K.
    #expect(NameSet(["\u{212A}"]) != ["K"])
  }

  @Test(arguments: ["", "short", "https://a-text-with-storage-of-its-own.example/"])
  func equalCodePoints_comparesBytes(_ before: String) {
    let same = String(decoding: Array((before + Self.composed).utf8), as: UTF8.self)
    #expect(equalCodePoints(before + Self.composed, same))
    #expect(!equalCodePoints(before + Self.composed, before + Self.decomposed))
    #expect(!equalCodePoints(before + "a", before + "b") && !equalCodePoints(before, before + "a"))
    #expect(equalCodePoints(before, before))
  }

  @Test func twoPeople_areTwoIdentities() {
    func identity(_ subject: String, _ issuer: String = "https://idp.example", _ tenant: String? = nil) -> Identity {
      Identity(issuer: issuer, tenant: tenant, subject: subject)
    }
    let all: Set = [
      identity(Self.composed), identity(Self.decomposed), identity("K"), identity("\u{212A}"),
      identity("a", "https://\(Self.composed)"), identity("a", "https://\(Self.decomposed)"),
      identity("a", "https://i", Self.composed), identity("a", "https://i", Self.decomposed),
      identity("a", "https://i"),
    ]
    #expect(all.count == 9)
    #expect(all.contains(identity(Self.composed)))
  }
}
