internal import AgentPorts
internal import Glibc
internal import HTTPAdapter
internal import SQLiteStore
internal import SystemAdapters
internal import UnixTransport

extension Broker {
  /// Forks the process that starts programs and opens files which a person or a client names.
  static func start(for options: Options) -> Broker {
    let pinentry = PinentryProgram(options.pinentry)
    let browser = BrowserProgram()
    let broker = start([
      .prompt: { pinentry.perform($0) }, .browser: { browser.perform($0) },
      .directoryAccount: { BrokeredDirectoryAccounts.perform($0) }, .authorities: { BrokeredAuthorities.perform($0) },
      .subjectToken: { BrokeredSubjectTokens.perform($0) },
      .backupCheck: { BrokeredBackups.check($0) }, .backupWrite: { BrokeredBackups.write($0) },
      .backupRead: { BrokeredBackups.read($0) },
      .commandLine: { $0.answer(pid_t($0.text).map(ProcessNames.isOwnersCommandLine) == true ? "yes" : "no") },
    ])
    if !broker.isRunning { LanyardAgent.say("lanyard-agent: \(Broker.whatIsGone)\n") }
    return broker
  }
}
