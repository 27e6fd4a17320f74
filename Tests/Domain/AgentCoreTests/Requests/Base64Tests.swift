import AgentModel
import Testing

@Suite struct Base64Tests {
  private func encoded(_ bytes: [UInt8]) -> String { bytes.withUnsafeBytes { Base64.encode($0) } }

  /// RFC 4648 §10.
  @Test(arguments: [
    ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
    ("foobar", "Zm9vYmFy"),
  ])
  func vectorsOfTheRFC_areCoded(text: String, code: String) {
    #expect(encoded(Array(text.utf8)) == code)
    #expect(Base64.decode(code) == Array(text.utf8))
  }

  @Test func everyByte_survives() {
    let bytes = Array(UInt8.min...UInt8.max)
    for count in 0...bytes.count {
      #expect(Base64.decode(encoded(Array(bytes.suffix(count)))) == Array(bytes.suffix(count)))
    }
    #expect(encoded([0xFB, 0xFF]) == "+/8=")
  }

  @Test(arguments: ["Zg", "Zg=", "Zg===", "====", "=", "Z===", "Zh==", "Zm9=", "Zm8 ", "-_8=", "Zg==Zg==", "Zm8=\n"])
  func anotherSpelling_isRefused(code: String) {
    #expect(Base64.decode(code) == nil)
  }
}
