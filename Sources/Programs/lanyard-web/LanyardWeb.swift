internal import CPlatform
internal import CommandSupport
internal import Glibc
internal import LoopbackHTTP
internal import PageGate
internal import Synchronization
internal import SystemAdapters
internal import WatchedFiles

/// `lanyard-web`: serves the page of `lanyard ui` to the browser of this person (docs/page.md, docs/page-security.md).
@main
struct LanyardWeb {
  static func main() {
    let words = Array(CommandLine.arguments.dropFirst())
    Output.begin()
    do throws(CommandFailure) {
      try harden()
      exit(try run(Options(words)))
    } catch {
      Output.tell(error, json: words.contains("--json"))
      exit(error.status.rawValue)
    }
  }

  /// What a form brings passes through this memory: an API key, a passphrase.
  private static func harden() throws(CommandFailure) {
    do {
      try ProcessHardening.apply()
    } catch {
      throw CommandFailure(
        .other, name: "system", "The kernel would let other programs read this process. The page was not started.")
    }
  }

  private static func run(_ options: Options) throws(CommandFailure) -> Int32 {
    guard Environment.value("LANYARD_GRANT_FILE") == nil else {
      throw .usage(
        "LANYARD_GRANT_FILE names a grant, and the page is for the person. It was not started.",
        hints: ["`env -u LANYARD_GRANT_FILE lanyard ui`"])
    }
    ResidentMemory.limitHeaps()
    let interruption = try Interruption()
    // Confined, this program can start none.
    _ = try Agent.connect(mayStart: options.mayStartAgent)
    let idle = try IdleEnd(seconds: options.idleSeconds)
    let listener = try listen(options, idle)
    // Without its address no browser can open the page.
    try Output.checkAnswer()
    ResidentMemory.giveBack()
    ProgramWatch.start()
    // Its connections end with the process: none of them has anything to finish, and one may wait for an agent that hangs.
    return withExtendedLifetime(listener) { wait(interruption, idle, options) }
  }

  private static func listen(_ options: Options, _ idle: IdleEnd) throws(CommandFailure) -> LoopbackListener {
    let (code, secret, formToken) = (try RandomText.new(), try RandomText.new(), try RandomText.new())
    let isTold = Atomic(false)
    let admitted = AdmittedPeers.thisUser {
      guard !isTold.exchange(true, ordering: .relaxed) else { return }
      Output.warning("Another user of this machine tried to reach the page, and got nothing.")
    }
    do throws(LoopbackError) {
      return try LoopbackListener(
        host: "127.0.0.1", port: options.port, admitted: admitted, maximumBodyBytes: Server.mostBodyBytes,
        refusalHeaders: SecureFields.all
      ) { port in
        // It listens, and no thread runs yet: the browser waits for the first.
        let announcement = Announcement(port: port, code: code, options: options)
        let isOpened = options.opensBrowser && Browser.open(announcement.opening)
        Confining.apply()
        announcement.tell(isOpened: isOpened)
        let endsAt = lanyard_boot_milliseconds() + options.codeSeconds * 1000
        let server = Server(
          port: port, code: OpeningCode(code, endsAt: endsAt),
          session: PageSession(secret: secret, formToken: formToken, port: port), idle: idle)
        return { server.answer($0) }
      }
    } catch {
      throw CommandFailure(
        .other, name: "system", "The page can't listen at 127.0.0.1: \(error). It was not started.",
        hints: options.port == 0 ? [] : ["`lanyard ui` without --port takes one that is free."])
    }
  }

  /// Until a signal comes, or no person has used the page for long.
  private static func wait(_ interruption: Interruption, _ idle: IdleEnd, _ options: Options) -> Int32 {
    while true {
      var watched = [
        pollfd(fd: interruption.descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: idle.descriptor, events: Int16(POLLIN), revents: 0),
      ]
      guard poll(&watched, nfds_t(watched.count), -1) > 0 else { continue }
      if watched[0].revents != 0 {
        return lanyard_signalfd_read(interruption.descriptor) == SIGINT ? ExitStatus.interrupted.rawValue : 0
      }
      Output.note(
        "Nobody used the page for \(options.idleSeconds / 60) minutes, so it ended. `lanyard ui` opens another.")
      return 0
    }
  }
}
