import AgentPorts
import SystemAdapters
import Testing

/// What the broker hands over as a subject token.
@Suite struct SubjectTokenTests {
  @Test(arguments: [
    "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJwb2QifQ.c2ln-_", "a.b.c\n", "a.b.c \r\n\n", "opaque-subject", "b64~+/==\n",
  ])
  func oneWord_isHandedOver(text: String) { #expect(fault(in: text) == nil) }

  @Test(arguments: [
    "=", "a=b", "a b", "a,b", "{}", "a\u{7F}", "é", "a.b.c\na.b.c", " a.b.c", "PASSWORD='x'",
    "root:x:0:0:root:/root:/bin/sh\n",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----\n",
  ])
  func anythingElse_isNot(text: String) { #expect(fault(in: text) == .malformed) }

  @Test(arguments: ["", "\n", " \r\n"])
  func emptyFile_isToldAsEmpty(text: String) { #expect(fault(in: text) == .empty) }

  @Test func largeFile_isToldAsTooLarge() {
    #expect(fault(in: "a.b." + String(repeating: "c", count: 64 << 10)) == .tooLarge)
    #expect(fault(in: "a.b." + String(repeating: "c", count: (64 << 10) - 4)) == nil)
  }

  private func fault(in text: String) -> SubjectTokenFault? {
    Array(text.utf8).withUnsafeBytes { BrokeredSubjectTokens.fault(in: $0) }
  }
}
