import ArgumentParser
import CommandSupport
import JSONRPC

/// `lanyard service`
struct ServiceCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "service",
    abstract: "Have systemd start the agent in each of your sessions, or no longer.",
    discussion: """
      Nobody needs it: a command that finds no agent starts one. A service has the agent end with your session and not with \
      a terminal, starts it for programs that only know the socket, and takes rights away from it.

      EXAMPLES:
        lanyard service install
        lanyard service uninstall
      """,
    subcommands: [ServiceInstall.self, ServiceUninstall.self])
}

/// `lanyard service install`
struct ServiceInstall: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "install",
    abstract: "Have systemd start the agent when a program connects to its socket, from now on.",
    discussion: """
      An agent that a command started is ended first; a vault under a passphrase is then locked. Where the installation \
      brought no unit to systemd, some are written to ~/.config/systemd/user; they go once the programs are removed.
      """)

  @OptionGroup var common: CommonOptions

  func run() throws {
    let manager = try SessionManager()
    // The programs may have moved since the units were written.
    let written = try manager.knows(UserUnits.socket) && !UserUnits.areOurs() ? nil : UserUnits.write()
    if written != nil { try manager.perform(["daemon-reload"]) }
    try manager.perform(["enable", "--now", UserUnits.socket] + (written == nil ? [] : UserUnits.removal))
    if common.json {
      var writer = JSONWriter()
      writer.beginObject()
      writer.member("unit", UserUnits.socket)
      writer.member("directory", written)
      writer.endObject()
      return writer.withBytes { Output.answer(json: $0) }
    }
    Output.done("systemd starts the agent when a program connects to its socket (\(UserUnits.socket)).")
  }
}

/// `lanyard service uninstall`
struct ServiceUninstall: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "uninstall",
    abstract: "Have systemd start the agent no longer, and end it. The accounts stay.")

  @OptionGroup var common: CommonOptions

  func run() throws {
    let manager = try SessionManager()
    guard try manager.knows(UserUnits.socket) else {
      return common.json ? Output.answer(json: "{}") : Output.done("There is no such service.")
    }
    let removal = try UserUnits.areOurs() ? UserUnits.removal : []
    try manager.perform(["disable", "--now", UserUnits.socket, UserUnits.service] + removal)
    if try UserUnits.remove() { try manager.perform(["daemon-reload"]) }
    common.json
      ? Output.answer(json: "{}")
      : Output.done("systemd starts the agent no longer. Commands start one when they need it.")
  }
}
