import FileRules
import Testing

/// `StatePlace`: the three places of the state, in their order.
@Suite struct StatePlaceTests {
  private func path(_ environment: [String: String]) throws(StatePlace.Fault) -> String {
    try StatePlace.path { environment[$0] }
  }

  @Test func theFirstPlaceThatIsNamedCounts() throws {
    var environment = ["HOME": "/home/a"]
    #expect(try path(environment) == "/home/a/.local/state/lanyard")
    environment["XDG_STATE_HOME"] = "/s"
    #expect(try path(environment) == "/s/lanyard")
    environment["LANYARD_STATE_DIR"] = "/d"
    #expect(try path(environment) == "/d")
  }

  @Test("A relative LANYARD_STATE_DIR is refused, and is no store in the working directory")
  func relativeDirectory() {
    #expect(throws: StatePlace.Fault.relative("d")) { try path(["HOME": "/home/a", "LANYARD_STATE_DIR": "d"]) }
  }

  @Test func relativePlacesOfTheSessionAreIgnored() throws {
    #expect(try path(["HOME": "/home/a", "XDG_STATE_HOME": "s"]) == "/home/a/.local/state/lanyard")
    #expect(throws: StatePlace.Fault.noHome) { try path(["HOME": "a"]) }
    #expect(throws: StatePlace.Fault.noHome) { try path([:]) }
  }
}
