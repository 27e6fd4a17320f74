import AgentCore
import Testing

/// Program names as the kernel reports them.
struct DisplayNameTests {
  @Test func plainProgramName_isShownUnchanged() {
    #expect(DisplayName.shown("python3\n".utf8) == "python3")
    #expect(DisplayName.shown("Web Content\n".utf8) == "Web Content")
    #expect(DisplayName.shown("žluťák\n".utf8) == "žluťák")
  }

  @Test func controlCharactersInAProgramName_areReplaced() {
    #expect(DisplayName.shown("a\u{1B}[2Jb\n".utf8) == "a?[2Jb")
    #expect(DisplayName.shown("a\tb\r\u{7F}\u{9B}c\n".utf8) == "a?b???c")
    #expect(DisplayName.shown("a\u{202E}b\u{200B}c\u{2028}".utf8) == "a?b?c?")
  }

  @Test func programName_isCutToItsFirstLineAndABoundedLength() {
    #expect(DisplayName.shown("first\nsecond\n".utf8) == "first")
    #expect(DisplayName.shown("first\0second".utf8) == "first")
    #expect(DisplayName.shown(String(repeating: "x", count: 4096).utf8)?.count == DisplayName.longest)
  }

  @Test func programNameThatIsNotText_isReplacedOrNil() {
    #expect(DisplayName.shown([0x61, 0xFF, 0xC3]) == "a\u{FFFD}\u{FFFD}")
    #expect(DisplayName.shown([]) == nil)
    #expect(DisplayName.shown("  \n".utf8) == nil)
    #expect(DisplayName.shown("\u{1B}\u{1B}\n".utf8) == nil)
  }
}
