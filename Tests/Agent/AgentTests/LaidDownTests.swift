import Agent
import AgentCore
import AgentModel
import AgentOAuth
import JSONRPC
import Testing

/// What stays of the administrator's files when one of them can't be used.
@Suite struct LaidDownTests {
  private static let folder = "/etc/lanyard/providers.d"

  private static func laid(_ names: String..., problems: String...) throws -> LaidDown {
    var laid = LaidDown()
    for name in names {
      let provider = Provider(
        configuration: .init(name: try #require(ProviderName(name)), issuer: "https://idp.example", clientID: "c"))
      laid.providers.append(ManagedProvider(provider, path: "\(folder)/\(name).json"))
    }
    laid.problems = problems.map { AdministratorProblem(path: $0, text: "bad") }
    return laid
  }

  private static func names(_ laid: LaidDown) -> [String] { laid.providers.map(\.provider.configuration.name.text) }

  @Test func badFile_keepsWhatItSaid_andARemovedOneDoesNot() throws {
    let before = try Self.laid("a", "b", "c")
    let now = try Self.laid("a", problems: Self.folder + "/b.json").keeping(before)
    #expect(Self.names(now) == ["a", "b"])
    #expect(Self.names(try Self.laid("a").keeping(now)) == ["a"])
  }

  @Test func unusableFolder_keepsAllOfItsFiles() throws {
    let before = try Self.laid("a", "b")
    #expect(Self.names(try Self.laid(problems: Self.folder).keeping(before)) == ["a", "b"])
    #expect(Self.names(try Self.laid(problems: "/etc/lanyard/policies.d").keeping(before)) == [])
  }

  @Test func nameThatAnotherFileTook_isNotKeptTwice() throws {
    let before = try Self.laid("a")
    var now = try Self.laid("a", problems: Self.folder + "/a.json")
    now.providers[0].path = Self.folder + "/z.json"
    #expect(now.keeping(before).providers.map(\.path) == [Self.folder + "/z.json"])
  }
}
