import AgentModel
import Testing

@Suite struct AccountIDTests {
  static func parse(_ text: String) -> AccountID? { Array(text.utf8).withUnsafeBytes { AccountID(utf8: $0) } }

  @Test func accountID_ofAnyBytes_parsesBackFromItsText() {
    for byte in 0...255 as ClosedRange<UInt8> {
      let bytes = [byte] + [UInt8](repeating: byte &* 7, count: 14) + [255 - byte]
      let id = AccountID(bytes: bytes)!
      #expect(id.text == "acc_" + Base32.encode(bytes))
      #expect(Self.parse(id.text) == id)
      #expect(AccountID(id.text) == id)
    }
  }

  /// The last digit counts in full, although 16 bytes use only part of it.
  @Test func accountID_withOneDigitChanged_isAnotherAccountID() {
    let id = "acc_" + String(repeating: "a", count: 26)
    for position in 4..<30 {
      for digit in "bz27" {
        var other = Array(id)
        other[position] = digit
        #expect(Self.parse(String(other)) != Self.parse(id))
        #expect(Self.parse(String(other))?.text == String(other))
      }
    }
  }

  @Test(arguments: [
    "", "work", "@active", "acc_", "acc_aaaaaaaaaaaaaaaaaaaaaaaaa", "acc_aaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "acc_AAAAAAAAAAAAAAAAAAAAAAAAAA", "acc_aaaaaaaaaaaaaaaaaaaaaaaaa1", "acc-aaaaaaaaaaaaaaaaaaaaaaaaaa",
    "Acc_aaaaaaaaaaaaaaaaaaaaaaaaaa",
  ])
  func malformedText_isNoAccountID(text: String) { #expect(Self.parse(text) == nil) }
}
