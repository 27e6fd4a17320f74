import AgentCore
import AgentModel
import Testing

/// Which file, or option, a member of the configuration comes from.
@Suite struct AdministratorConfigurationTests {
  private static func read(_ text: String) throws(ConfigurationProblems) -> AdministratorConfiguration {
    try AdministratorConfiguration(parsing: Array(text.utf8))
  }

  @Test func enforcedMember_comesBeforeEverything_andADefaultAfterEverything() throws {
    let laidDown = try Self.read(
      #"{"lockAfterSeconds":900,"proxy":"http://p.example:1","enforced":{"lockOn":["sleep"],"limits":{"connections":9}}}"#
    )
    var (options, file) = (AgentConfiguration(), AgentConfiguration())
    options.lockOn = [.screen]
    file.connections = 100
    file.proxy = "none"
    let whole = AgentConfiguration.inForce(laidDown, options: options, file: file)
    #expect(whole.lockOn == [.sleep])
    #expect(whole.connections == 9)
    #expect(whole.proxy == "none")
    #expect(whole.lockAfter == .seconds(900))
    #expect(whole.requestsInFlight == nil)
    #expect(laidDown.enforced.memberNames == ["limits.connections", "lockOn"])
    #expect(laidDown.enforced.members(differingFrom: file) == ["limits.connections"])
    #expect(laidDown.enforced.members(differingFrom: laidDown.enforced) == [])
  }

  @Test func optionComesBeforeTheFile_andAnEmptyListCounts() throws {
    var (options, file) = (AgentConfiguration(), AgentConfiguration())
    (options.lockAfter, file.lockAfter) = (.seconds(1), .seconds(2))
    file.lockOn = [.sleep]
    let laidDown = try Self.read(#"{"enforced":{"lockOn":[]}}"#)
    let whole = AgentConfiguration.inForce(laidDown, options: options, file: file)
    #expect(whole.lockAfter == .seconds(1))
    #expect(whole.lockOn == [])
    #expect(laidDown.enforced.memberNames == ["lockOn"])
  }

  @Test(arguments: [
    (#"{"enforced":{"proxi":"none"}}"#, 1, 14), (#"{"enforced":[]}"#, 1, 13), (#"{"enforced":{"enforced":{}}}"#, 1, 14),
    (#"{"enforced":{},"enforced":{}}"#, 1, 16), ("{\n  \"enforced\": {\"lockAfterSeconds\": 0}}", 2, 36),
  ])
  func problemsUnderEnforced_areToldWithTheirPlace(text: String, line: Int, column: Int) {
    #expect {
      _ = try Self.read(text)
    } throws: { error in
      let problem = (error as? ConfigurationProblems)?.list.first
      return problem?.line == line && problem?.column == column
    }
  }

  @Test func personsFile_enforcesNothing() {
    #expect(throws: ConfigurationProblems.self) { try AgentConfiguration(parsing: Array(#"{"enforced":{}}"#.utf8)) }
  }
}
