import CPlatform
import Foundation
import Testing

@Suite struct SocketTests {
  let directory = TemporaryDirectory()

  /// Both ends of a connection through a listener at `name`.
  private func connect(_ name: String) throws -> (listener: Int32, client: Int32, server: Int32) {
    let listener = lanyard_bind_unix(directory.path(name))
    try #require(listener >= 0)
    #expect(lanyard_connect_unix(directory.path(name)) == -ECONNREFUSED)
    #expect(listen(listener, 8) == 0)
    #expect(lanyard_accept4(listener) == -EAGAIN)
    let client = lanyard_connect_unix(directory.path(name))
    let server = lanyard_accept4(listener)
    try #require(client >= 0 && server >= 0)
    return (listener, client, server)
  }

  /// In a process of its own, since the umask belongs to all threads.
  @Test func boundSocket_isPrivateUnderAnyUmask() async {
    await #expect(processExitsWith: .success) {
      let directory = TemporaryDirectory()
      umask(0)
      let listener = lanyard_bind_unix(directory.path("agent.sock"))
      #expect(listener >= 0)
      #expect(directory.mode("agent.sock") == 0o600)
    }
  }

  @Test func peerCredentials_areThoseOfThisProcess() throws {
    let ends = try connect("agent.sock")
    defer { for end in [ends.listener, ends.client, ends.server] { close(end) } }
    var (pid, uid, gid) = (pid_t(0), uid_t(0), gid_t(0))
    #expect(lanyard_peer_credentials(ends.server, &pid, &uid, &gid) == 0)
    #expect(pid == getpid() && uid == getuid() && gid == getgid())
    #expect(lanyard_peer_credentials(0, &pid, &uid, &gid) < 0)
  }

  @Test func acceptedConnections_areNonBlockingAndNotInherited() throws {
    let ends = try connect("agent.sock")
    defer { for end in [ends.listener, ends.client, ends.server] { close(end) } }
    #expect(fcntl(ends.server, F_GETFL) & O_NONBLOCK != 0)
    for end in [ends.listener, ends.client, ends.server] { #expect(fcntl(end, F_GETFD) & FD_CLOEXEC != 0) }
  }

  @Test func socketPathOverTheLimit_isReachedThroughItsDirectory() throws {
    let long = String(repeating: "d", count: 100)
    mkdir(directory.path(long), 0o700)
    try #require(directory.path(long + "/s").utf8.count > Int(lanyard_unix_path_limit))
    let ends = try connect(long + "/s")
    for end in [ends.listener, ends.client, ends.server] { close(end) }
    #expect(directory.mode(long + "/s") == 0o600)
  }

  @Test func existingFileAtTheSocketPath_isLeftAlone() {
    directory.write([1], to: "file")
    #expect(lanyard_bind_unix(directory.path("file")) == -EADDRINUSE)
    #expect(directory.bytes(of: "file") == [1])
    symlink("nowhere", directory.path("link"))
    #expect(lanyard_bind_unix(directory.path("link")) == -EADDRINUSE)
    #expect(lanyard_connect_unix(directory.path("missing")) == -ENOENT)
    #expect(lanyard_bind_unix("") == -EINVAL)
  }
}

@Suite struct EventTests {
  @Test func signalledEvent_wakesOnePoll() {
    let event = lanyard_eventfd()
    defer { close(event) }
    #expect(lanyard_eventfd_drain(event) == 0)
    lanyard_eventfd_signal(event)
    lanyard_eventfd_signal(event)
    var poll = pollfd(fd: event, events: Int16(POLLIN), revents: 0)
    #expect(Glibc.poll(&poll, 1, 0) == 1)
    #expect(lanyard_eventfd_drain(event) == 1)
    #expect(lanyard_eventfd_drain(event) == 0)
  }
}

@Suite struct NamedFileTests {
  @Test func fileAtAnotherName_isNotTheSame() {
    let directory = TemporaryDirectory()
    directory.write([1], to: "file")
    let file = open(directory.path("file"), O_RDONLY)
    defer { close(file) }
    #expect(lanyard_is_same_file(file, directory.path("file")) != 0)
    #expect(lanyard_is_same_file(file, directory.path) == 0)
  }
}
