import FileRules
import Foundation
import Testing

/// `SocketPlace`: the four places of the socket, in their order, and what may stand at the last one.
@Suite struct SocketPlaceTests {
  let directory = TemporaryDirectory()

  private func path(_ environment: [String: String] = [:]) throws(SocketPlace.Fault) -> String {
    let place = SocketPlace(sessions: directory.path("sessions"), temporary: directory.path("temporary"))
    return try place.path { environment[$0] }
  }

  private var lastDirectory: String { directory.path("temporary/lanyard-\(geteuid())") }

  init() throws {
    mkdir(directory.path("sessions"), 0o755)
    mkdir(directory.path("temporary"), 0o755)
  }

  @Test func variablesComeBeforeTheDirectoryOfASession() throws {
    mkdir(directory.path("sessions/\(geteuid())"), 0o700)
    #expect(try path(["LANYARD_SOCKET": "/a/b.sock", "XDG_RUNTIME_DIR": "/run/x"]) == "/a/b.sock")
    #expect(try path(["XDG_RUNTIME_DIR": "/run/x"]) == "/run/x/lanyard/agent.sock")
    let session = directory.path("sessions/\(geteuid())/lanyard/agent.sock")
    #expect(try path() == session)
    #expect(try path(["XDG_RUNTIME_DIR": "run/x"]) == session)
  }

  @Test func relativeSocketIsRefused() {
    #expect(throws: SocketPlace.Fault.relative("b.sock")) { try path(["LANYARD_SOCKET": "b.sock"]) }
  }

  @Test func withoutASession_theSocketIsInTheTemporaryDirectory() throws {
    #expect(try path() == "\(lastDirectory)/agent.sock")
    mkdir(lastDirectory, 0o700)
    #expect(try path() == "\(lastDirectory)/agent.sock")
  }

  @Test func temporaryDirectoryThatOthersCouldServe_isRefused() {
    mkdir(lastDirectory, 0o700)
    chmod(lastDirectory, 0o710)
    #expect(throws: SocketPlace.Fault.unsafe(directory: lastDirectory, .openToOthers(mode: 0o710))) { try path() }
    rmdir(lastDirectory)
    symlink(directory.path("sessions"), lastDirectory)
    #expect(throws: SocketPlace.Fault.unsafe(directory: lastDirectory, .link)) { try path() }
    #expect(SocketPlace.Fault.unsafe(directory: lastDirectory, .link).description.contains(lastDirectory))
  }
}
