internal import AuditExport
internal import CPlatform
internal import CommandSupport
internal import Glibc

/// journald or a syslog daemon, by its local socket: one datagram a record.
final class DatagramCollector: Collector {
  private let path: String
  private let isJournal: Bool
  private let host: String?
  private var socket: Int32 = -1

  /// So many are sent before the cursor is stored.
  let most = 500
  /// A daemon that reads nothing fills its socket within some hundred messages; then a write waits for so long.
  private static let sendMilliseconds: Int32 = 10_000

  /// - Parameter host: the name of this machine, for syslog; nil for none.
  init(path: String, isJournal: Bool, host: String?) {
    self.path = path
    self.isJournal = isJournal
    self.host = host
  }

  deinit { if socket >= 0 { close(socket) } }

  func send(_ records: [ExportRecord]) -> Delivery {
    var delivery = Delivery()
    for record in records {
      let bytes =
        isJournal
        ? JournalFormat.datagram(record) : SyslogFormat.message(record, host: host, process: getpid())
      var result = send(bytes)
      // The daemon was started again: its old socket takes nothing.
      if [ECONNREFUSED, ENOTCONN, ECONNRESET, EPIPE, EDESTADDRREQ].contains(-result) {
        disconnect()
        result = send(bytes)
      }
      guard result >= 0 else {
        if result != -EAGAIN { disconnect() }
        delivery.trouble = Trouble(text(-result))
        return delivery
      }
      delivery.taken += 1
    }
    return delivery
  }

  private func send(_ bytes: [UInt8]) -> Int32 {
    if socket < 0 {
      let connected = lanyard_connect_datagram(path, Self.sendMilliseconds)
      guard connected >= 0 else { return connected }
      socket = connected
    }
    let result = lanyard_send_datagram(socket, bytes, bytes.count)
    guard result == -EMSGSIZE, isJournal else { return result }
    return lanyard_send_memory_file(socket, bytes, bytes.count)
  }

  private func disconnect() {
    if socket >= 0 { close(socket) }
    socket = -1
  }

  private func text(_ error: Int32) -> String {
    switch error {
    case ENOENT, ECONNREFUSED: "No daemon listens at \(path)."
    case EAGAIN: "The daemon at \(path) reads nothing."
    case EPROTOTYPE: "The daemon at \(path) takes a stream, and no datagrams (RFC 5424 over a local socket)."
    default: "The daemon at \(path) takes nothing: \(SystemError.message(error))."
    }
  }
}
