import Foundation
import PracticeProvider
import WatchedFiles

/// `lanyard-demo provider`: runs the practice provider until SIGTERM or SIGINT.
enum ProviderCommand {
  static func run(_ arguments: [String]) -> Int32 {
    let wanted: ProviderArguments
    do {
      wanted = try ProviderArguments(arguments)
    } catch {
      return Usage.tell("\(error)", help: "lanyard demo provider --help", among: arguments)
    }
    if wanted.wantsHelp {
      Terminal.print(ProviderArguments.help)
      return 0
    }
    if wanted.wantsGuises {
      for guise in Guise.names.compactMap(Guise.named) {
        let gap = String(repeating: " ", count: max(1, namesWidth - guise.name.count))
        Terminal.print(guise.name + gap + guise.title)
      }
      return 0
    }
    return serve(wanted)
  }

  private static let namesWidth = 20

  private static func serve(_ wanted: ProviderArguments) -> Int32 {
    // Block the signals before the first thread starts, so that only this thread receives them.
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
    // No program learns where the provider is.
    if Terminal.takesNothing {
      server.stop()
      return 1
    }
    for line in introduction(server, wanted.options) { Terminal.complain(line) }

    ProgramWatch.start()
    var signal: Int32 = 0
    sigwait(&endings, &signal)
    server.stop()
    return 0
  }

  private static func introduction(_ server: PracticeServer, _ options: PracticeOptions) -> [String] {
    let people = options.users.map { "\($0.name)@\($0.tenant)" }.joined(separator: ", ")
    let clients = options.clients.map(\.id).joined(separator: ", ")
    let asked =
      options.autoApprove.map { "without a page: \($0) signs in" } ?? "a password is the name, unless --users sets it"
    let lines = [
      "practice provider on this machine; Ctrl-C ends it", "people:  \(people) (\(asked))",
      "clients: \(clients)",
    ]
    guard let guise = options.guise else { return lines }
    let address = server.issuer.hasSuffix("/") ? String(server.issuer.dropLast()) : server.issuer
    return lines + [
      "guise:   \(guise.title)",
      "add it:  curl -s \(address)/practice/provider | lanyard provider add \(guise.name) --from -",
    ]
  }
}
