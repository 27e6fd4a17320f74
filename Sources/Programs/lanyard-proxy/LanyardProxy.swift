import AgentModel
import CPlatform
import CStart
import CommandSupport
import Glibc
import ProxyCore
import TLSServing
import Threads
import WatchedFiles

/// `lanyard-proxy`: a forward proxy that puts an account's token on requests, so that programs of a sandbox never hold one
/// (docs/proxy.md).
@main
struct LanyardProxy {
  /// How long transfers that run may go on after SIGTERM.
  private static let endMilliseconds: Int = 2000
  /// How long those that are ended then have to write down what passed.
  private static let recordMilliseconds: Int = 2000
  /// A connection that passes has two sockets, two pipes and what wakes its thread.
  private static let descriptors: UInt64 = 2048

  static func main() {
    let words = Array(CommandLine.arguments.dropFirst())
    Output.begin(wasClosed: lanyard_closed_at_start() & 0b010 != 0)
    do throws(CommandFailure) {
      // Another program of this user could read the tokens in this memory.
      guard lanyard_deny_dumps() == 0 else {
        throw CommandFailure(
          .other, name: "system", "The kernel would let other programs read this process. It was not started.")
      }
      _ = lanyard_ignore_sigpipe()
      _ = lanyard_raise_descriptor_limit(descriptors)
      exit(try run(Options(words)))
    } catch {
      Output.tell(error, json: words.contains("--json"))
      exit(error.status.rawValue)
    }
  }

  private static func run(_ options: Options) throws(CommandFailure) -> Int32 {
    let interruption = try Interruption()
    let agent = AgentPool(mayStart: options.mayStartAgent)
    var connection = try Agent.connect(mayStart: options.mayStartAgent)
    let scope = try ProxyScope(options, via: &connection)
    _ = consume connection
    if options.onlyShows {
      Announcement(place: .sandbox, secret: nil, certificate: nil, scope: scope).printJSON()
      try Output.checkAnswer()
      return 0
    }
    let authority = try authority(for: scope.origins.hosts)
    let secret = options.socket == nil && options.sandbox == nil ? try newSecret() : nil
    let proxy = Proxy(scope, agent, authority: authority, secret: secret)
    guard proxy.hangUps.start(), proxy.revocations.start() else { throw noThread }
    let file = try authority.map { (authority) throws(CommandFailure) in try CertificateFile(authority.certificate) }
    defer { file?.remove() }
    func announce(_ place: Listener.Place) throws(CommandFailure) {
      let announcement = Announcement(place: place, secret: secret, certificate: file?.path, scope: scope)
      // `lanyard exec` reads it.
      if options.json || options.parent != nil { announcement.printJSON() } else { announcement.printText() }
      // Without this line no program can use the proxy.
      try Output.checkAnswer()
    }
    if let sandbox = options.sandbox {
      // The sandbox begins once it knows the certificate's file.
      try announce(.sandbox)
      return try serve(.handedOver(sandbox), proxy, interruption, parent: options.parent)
    }
    let listener: Listener
    if let path = options.socket {
      listener = try .socket(at: AgentPaths.absolute(path))
    } else {
      listener = try .port(options.port)
    }
    defer { listener.removePath() }
    // That of `lanyard exec` is its command's way to the network, and ends with the command.
    if options.parent == nil { ProgramWatch.start() }
    try announce(listener.place)
    return serve(listener, proxy, interruption, parent: options.parent)
  }

  /// Accepts until a signal comes or the parent ends, then lets transfers end.
  private static func serve(
    _ listener: Listener, _ proxy: Proxy, _ interruption: Interruption, parent: Int32?
  ) -> Int32 {
    var status: Int32 = 0
    while !proxy.isEnding {
      var watched = [
        pollfd(fd: listener.descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: interruption.descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: parent ?? -1, events: Int16(POLLIN), revents: 0),
      ]
      guard poll(&watched, nfds_t(watched.count), -1) > 0 else { continue }
      if watched[0].revents != 0 { listener.accept(for: proxy) }
      if watched[1].revents != 0 {
        let signal = lanyard_signalfd_read(interruption.descriptor)
        // The terminal's Ctrl-C is for the command, which may go on.
        if signal == SIGTERM || parent == nil { proxy.end() }
        if signal == SIGINT { status = ExitStatus.interrupted.rawValue }
      }
      if watched[2].revents != 0 { proxy.end() }
    }
    listener.stop()
    var deadline = MonotonicTime.now.milliseconds + endMilliseconds
    // Connections that wait for another request have nothing to end.
    while proxy.transferCount > 0, MonotonicTime.now.milliseconds < deadline { usleep(10_000) }
    // Their threads end with this process. Again and again, since one may be between two steps, each with a cancellation.
    deadline = MonotonicTime.now.milliseconds + recordMilliseconds
    while proxy.transferCount > 0, MonotonicTime.now.milliseconds < deadline {
      proxy.hangUps.cancelAll()
      usleep(10_000)
    }
    return status
  }

  private static func authority(for hosts: [String]) throws(CommandFailure) -> RunAuthority? {
    guard !hosts.isEmpty else { return nil }
    guard RunAuthority.isPossible else {
      throw CommandFailure(.other, name: "noLibrary", "\(SystemLibrary.tls.missing) The proxy was not started.")
    }
    guard let authority = RunAuthority(hosts: hosts) else {
      throw CommandFailure(
        .other, name: "system", "The authority of this run could not be made. The proxy was not started.")
    }
    return authority
  }

  private static func newSecret() throws(CommandFailure) -> ProxySecret {
    var bytes = [UInt8](repeating: 0, count: ProxySecret.byteCount)
    guard lanyard_random(&bytes, bytes.count) == 0 else {
      throw CommandFailure(.other, name: "system", "The kernel gave no random bytes. The proxy was not started.")
    }
    return ProxySecret(random: bytes)
  }

  private static let noThread = CommandFailure(
    .other, name: "system", "The system has no thread left. The proxy was not started.")
}
