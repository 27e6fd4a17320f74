import FileRules
import Testing

/// Files of secrets as editors save them.
@Suite struct SecretTextTests {
  private func text(_ bytes: [UInt8], keepingLines: Bool = false) -> Result<[UInt8], SecretText.Problem> {
    bytes.withUnsafeBytes { buffer in
      do throws(SecretText.Problem) {
        return .success(Array(buffer[try SecretText.range(in: buffer, keepingLines: keepingLines)]))
      } catch {
        return .failure(error)
      }
    }
  }

  @Test(arguments: ["s", "s\n", "s\r\n", "s\r", "s\r\n\n", "\u{FEFF}s", "\u{FEFF}s\r\n"])
  func markAndLineEnds_areTakenOff(content: String) {
    #expect(text(Array(content.utf8)) == .success(Array("s".utf8)))
  }

  @Test func blanks_belongToTheSecret() {
    #expect(text(Array(" s \n".utf8)) == .success(Array(" s ".utf8)))
    #expect(text(Array("a\nb\n".utf8)) == .success(Array("a\nb".utf8)))
    #expect(text(Array("\u{FEFF}a\nb\n".utf8), keepingLines: true) == .success(Array("a\nb\n".utf8)))
    #expect(text([]) == .success([]))
  }

  @Test func otherEncodings_areTold() {
    #expect(text([0xFF, 0xFE, 0x73, 0x00]) == .failure(.wideCharacters))
    #expect(text([0xFE, 0xFF, 0x00, 0x73]) == .failure(.wideCharacters))
    #expect(text([0x73, 0x00, 0x0A, 0x00]) == .failure(.wideCharacters))
    #expect(text([0x63, 0x6C, 0xE9]) == .failure(.notUTF8))
    #expect(text([0xC0, 0xAF]) == .failure(.notUTF8))
    #expect(text([0xED, 0xA0, 0x80]) == .failure(.notUTF8))
    #expect(text([0xF4, 0x90, 0x80, 0x80]) == .failure(.notUTF8))
    #expect(text([0xE2, 0x82]) == .failure(.notUTF8))
  }

  @Test(arguments: ["clé", "пароль", "密码", "🔑"])
  func textInUTF8_isKept(content: String) { #expect(text(Array(content.utf8)) == .success(Array(content.utf8))) }
}
