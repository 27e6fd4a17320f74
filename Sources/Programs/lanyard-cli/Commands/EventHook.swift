import CommandSupport
import Glibc
import JSONRPC

/// The command of `lanyard events --exec`.
struct EventHook {
  let command: String
  /// Ends the command, too.
  let interruption: Interruption

  /// Runs the command for one event, and waits for its end. A failure is told, and the next event is waited for.
  func run(_ event: JSONNode) {
    let type = event["type"]?.string ?? ""
    var line = JSONWriter()
    line.verbatim(event.raw)
    line.byte(UInt8(ascii: "\n"))
    let input = line.withBytes { HeldBytes($0) }
    do throws(CommandFailure) {
      setenv("LANYARD_EVENT", type, 1)
      let ran = try ChildOutput.of("/bin/sh", ["-c", command], input: input, interruption: interruption)
      ran.stdout.withBytes { Output.answer(bytes: $0) }
      if !ran.hasSucceeded {
        let complaint = ran.complaint.isEmpty ? "" : ": \(ran.complaint)"
        Output.warning("The command of --exec ended with \(ran.status) for \(Text.shown(type))\(complaint).")
      }
    } catch {
      Output.warning(error.message)
    }
  }
}
