import SystemAdapters
import Testing

/// What the broker hands over as a subject token.
@Suite struct SubjectTokenTests {
  @Test(arguments: ["eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJwb2QifQ.c2ln-_", "a.b.c\n", "a.b.c \r\n\n"])
  func signedJWT_isHandedOver(text: String) { #expect(isToken(text)) }

  @Test(arguments: [
    "", "\n", "a.b", "a.b.c.d", "a..c", "a.b.c=", "a.b.c\na.b.c", " a.b.c", "root:x:0:0:root:/root:/bin/sh\n",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----\n",
  ])
  func anythingElse_isNot(text: String) { #expect(!isToken(text)) }

  private func isToken(_ text: String) -> Bool {
    Array(text.utf8).withUnsafeBytes { BrokeredSubjectTokens.isToken($0) }
  }
}
