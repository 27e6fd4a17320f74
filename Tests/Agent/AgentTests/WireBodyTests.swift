import Foundation
import Secrets
import Testing

import AgentWire

@Suite struct WireBodyTests {
  @Test(arguments: [
    "", "plain", #"{"a":"b\\"}"#, #"""""#, "\n\r\t\n", "ключ", "\u{7F}", "\u{1B}[1m bold \u{1B}[0m and not",
  ])
  func text_isPassedOnAsText(text: String) {
    let body = WireBody(Secret(text: text))
    #expect(body.text == text)
    #expect(body.base64 == nil)
  }

  @Test(arguments: ["\u{1}", "\u{0}\u{0}\u{0}", "\u{1B}[1", "\u{1}\"\"\"\""])
  func textOfControlCharacters_isPassedOnAsBytes(text: String) {
    let body = WireBody(Secret(text: text))
    #expect(body.text == nil)
    #expect(body.base64 == Data(text.utf8).base64EncodedString())
  }

  @Test func bytesThatAreNoText_arePassedOnAsBytes() {
    let body = WireBody([UInt8]([0x61, 0xFF, 0x62]).withUnsafeBytes { Secret(copying: $0) })
    #expect(body.text == nil)
    #expect(body.base64 == "Yf9i")
  }
}
