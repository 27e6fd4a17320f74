import AgentCore
import AgentModel
import JSONRPC
import SecretJSON
import Secrets
import Testing

/// A member that a document names twice (RFC 8259 §4).
struct DuplicateKeyTests {
  @Test func documentThatNamesAMemberTwice_isRefused_unlessItsReaderAllowsIt() {
    let text = Secret(text: #"{"entitlements":["a"],"entitlements":[]}"#)
    #expect(SecretJSON.read(text) { EntitlementsDocument($0) } == nil)
    #expect(SecretJSON.read(text, duplicateKeys: .allowed) { EntitlementsDocument($0) }?.entitlements == ["a"])
  }
}
