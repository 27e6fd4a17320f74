import AgentCore
import AgentModel
import AgentOAuth
import AgentPermissions
import AgentStore
import AgentUpkeep
import JSONRPC
import Testing

/// What stays of the administrator's files when one of them can't be used.
@Suite struct AdministratorContentTests {
  private static let folder = "/etc/lanyard/providers.d"

  private static func content(_ names: String..., problems: String...) throws -> AdministratorContent {
    var content = AdministratorContent()
    for name in names {
      let provider = Provider(
        configuration: .init(name: try #require(ProviderName(name)), issuer: "https://idp.example", clientID: "c"))
      content.providers.append(ManagedProvider(provider, path: "\(folder)/\(name).json"))
    }
    content.problems = problems.map { AdministratorProblem(path: $0, text: "bad") }
    return content
  }

  private static func names(_ content: AdministratorContent) -> [String] {
    content.providers.map(\.provider.configuration.name.text)
  }

  @Test func badFile_keepsWhatItSaid_andARemovedOneDoesNot() throws {
    let before = try Self.content("a", "b", "c")
    let now = try Self.content("a", problems: Self.folder + "/b.json").keeping(before)
    #expect(Self.names(now) == ["a", "b"])
    #expect(Self.names(try Self.content("a").keeping(now)) == ["a"])
  }

  @Test func unusableFolder_keepsAllOfItsFiles() throws {
    let before = try Self.content("a", "b")
    #expect(Self.names(try Self.content(problems: Self.folder).keeping(before)) == ["a", "b"])
    #expect(Self.names(try Self.content(problems: "/etc/lanyard/policies.d").keeping(before)) == [])
  }

  @Test func nameThatAnotherFileTook_isNotKeptTwice() throws {
    let before = try Self.content("a")
    var now = try Self.content("a", problems: Self.folder + "/a.json")
    now.providers[0].path = Self.folder + "/z.json"
    #expect(now.keeping(before).providers.map(\.path) == [Self.folder + "/z.json"])
  }

  @Test func fileWithoutAName_mayDescribeAnyPolicy_unlessItIsKnown() throws {
    let path = "/etc/lanyard/policies.d/10-base.json"
    let written = #"{"name":"default","version":1,"capabilities":{"see":{"kind":"read"}}}"#
    let document = try PolicyDocument(parsing: Array(written.utf8))
    var before = AdministratorContent()
    before.policies = [ManagedPolicy(document, as: RawJSON(stored: Array(written.utf8)), from: .file(path))]
    #expect(!before.mayDescribeAnyPolicy)
    var now = AdministratorContent()
    now.unread = [UnreadPolicy(name: nil, path: path), UnreadPolicy(name: "10-base", path: path)]
    now.problems = [AdministratorProblem(path: path, text: "bad")]
    #expect(now.mayDescribeAnyPolicy)
    #expect(now.deniedPolicies == ["10-base": path])
    #expect(!now.keeping(before).mayDescribeAnyPolicy)
    #expect(now.keeping(before).deniedPolicies.isEmpty)
    now.unread.append(UnreadPolicy(name: nil, path: "/etc/lanyard/policies.d"))
    #expect(now.keeping(before).mayDescribeAnyPolicy)
  }
}
