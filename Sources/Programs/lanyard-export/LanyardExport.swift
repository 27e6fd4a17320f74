internal import AuditExport
internal import CPlatform
internal import CStart
internal import CommandSupport
internal import Glibc
internal import StreamingHTTP

/// `lanyard-export`: sends the audit log to collectors of this organisation (docs/audit-export.md).
@main
struct LanyardExport {
  static func main() {
    let words = Array(CommandLine.arguments.dropFirst())
    Output.begin(wasClosed: lanyard_closed_at_start() & 0b010 != 0)
    do throws(CommandFailure) {
      // A token or a header of a collector passes through this memory.
      guard lanyard_deny_dumps() == 0 else {
        throw CommandFailure(
          .other, name: "system", "The kernel would let other programs read this process. Nothing was exported.")
      }
      _ = lanyard_ignore_sigpipe()
      HTTPClient.limitHeaps(to: 2)
      let options = try Options(words)
      // Its gaps would be taken for entries that were dropped.
      guard Environment.value("LANYARD_GRANT_FILE") == nil else {
        throw CommandFailure.usage(
          "LANYARD_GRANT_FILE names a grant, and a grant shows only a part of the audit log. Nothing was exported.",
          hints: ["Run the export without it, as the owner of the accounts."])
      }
      if options.showsStatus {
        try StatusReport(options).print()
        Process.exit(.success, json: options.json)
      }
      Process.exit(try Run(options).toItsEnd())
    } catch {
      Output.tell(error, json: words.contains("--json"))
      Process.exit(error.status)
    }
  }
}
