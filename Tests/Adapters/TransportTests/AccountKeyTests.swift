import AgentModel
import Testing

@testable import Agent

@Suite struct AccountKeyTests {
  static func key(_ text: String) -> AccountKey? { Array(text.utf8).withUnsafeBytes { AccountKey($0) } }

  @Test func theTextOfTheWireFindsTheAccount() {
    for byte in 0...255 as ClosedRange<UInt8> {
      let id = AccountID(bytes: [byte] + [UInt8](repeating: byte &* 7, count: 14) + [255 - byte])!
      #expect(Self.key(id.text) == AccountKey(id))
    }
  }

  /// Also the last digit counts in full, of which the id itself needs only a part.
  @Test func anotherDigitAnywhereIsAnotherKey() {
    let id = "acc_" + String(repeating: "a", count: 26)
    for position in 4..<30 {
      for digit in "bz27" {
        var other = Array(id)
        other[position] = digit
        #expect(Self.key(String(other)) != Self.key(id))
      }
    }
  }

  @Test(arguments: [
    "", "work", "@active", "acc_", "acc_aaaaaaaaaaaaaaaaaaaaaaaaa", "acc_aaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "acc_AAAAAAAAAAAAAAAAAAAAAAAAAA", "acc_aaaaaaaaaaaaaaaaaaaaaaaaa1", "acc-aaaaaaaaaaaaaaaaaaaaaaaaaa",
    "Acc_aaaaaaaaaaaaaaaaaaaaaaaaaa",
  ])
  func whatIsNoIdIsNoKey(text: String) { #expect(Self.key(text) == nil) }
}
