import Foundation
import PracticeProvider

/// `lanyard-demo provider`: the practice provider by itself, until it is told to end.
enum ProviderCommand {
  static func run(_ arguments: [String]) -> Int32 {
    let wanted: ProviderArguments
    do {
      wanted = try ProviderArguments(arguments)
    } catch {
      Terminal.complain("lanyard-demo provider: \(error)")
      Terminal.complain("Try: lanyard-demo provider --help")
      return Usage.exitStatus
    }
    if wanted.wantsHelp {
      Terminal.print(ProviderArguments.help)
      return 0
    }
    return serve(wanted)
  }

  private static func serve(_ wanted: ProviderArguments) -> Int32 {
    // Blocked before the first thread begins, so that no thread but this one ever takes them.
    var endings = sigset_t()
    sigemptyset(&endings)
    sigaddset(&endings, SIGTERM)
    sigaddset(&endings, SIGINT)
    pthread_sigmask(SIG_BLOCK, &endings, nil)
    signal(SIGPIPE, SIG_IGN)

    let server: PracticeServer
    do {
      server = try PracticeServer(port: wanted.port, path: wanted.path, options: wanted.options)
    } catch {
      Terminal.complain("lanyard-demo provider: \(error)")
      return 1
    }
    Terminal.print(server.issuer)
    for line in introduction(server, wanted.options) { Terminal.complain(line) }

    var signal: Int32 = 0
    sigwait(&endings, &signal)
    server.stop()
    return 0
  }

  private static func introduction(_ server: PracticeServer, _ options: PracticeOptions) -> [String] {
    let people = options.users.map { "\($0.name)@\($0.tenant)" }.joined(separator: ", ")
    let clients = options.clients.map(\.id).joined(separator: ", ")
    let asked = options.autoApprove.map { "nobody is asked: \($0) signs in" } ?? "passwords are the names, unless told"
    return [
      "practice provider, for this machine only; Ctrl-C ends it", "people:  \(people) (\(asked))",
      "clients: \(clients)",
    ]
  }
}
