import AgentModel
import Glibc
import ProxyCore
import StreamingHTTP
import Threads

/// The head of a server's answer on a connection that the proxy reads by itself.
enum ServerAnswer {
  /// Reads the head, and what came with it.
  ///
  /// - Parameter take: gets the bytes so far; nil as long as the head is not whole. It removes those of an interim response.
  static func read<Head>(
    from server: OpenConnection, at origin: String, milliseconds: Int, _ cancellation: HTTPCancellation,
    _ take: (inout [UInt8]) throws(Refusal) -> Head?
  ) throws(Refusal) -> Head {
    let deadline = MonotonicTime.now.milliseconds + milliseconds
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 16 << 10)
    while !cancellation.isCancelled {
      switch piece.withUnsafeMutableBytes({ server.read(into: $0) }) {
      case .bytes(let count):
        bytes += piece[..<count]
        if let head = try take(&bytes) { return head }
      case .later:
        let left = deadline - MonotonicTime.now.milliseconds
        guard left > 0 else {
          throw Refusal(
            504, "timedOut", "\(origin) did not answer in time. The request was sent once and may have had its effect.")
        }
        // A cancellation is noticed within a second.
        _ = server.wait(POLLIN, milliseconds: min(left, 1000))
      case .end, .failed: throw lost(origin)
      }
    }
    throw lost(origin)
  }

  static func lost(_ origin: String) -> Refusal {
    Refusal(
      502, "responseLost", "The response of \(origin) was lost. The request was sent once and may have had its effect.")
  }
}
