internal import CCurl

/// What libcurl calls while a request runs, on the thread that runs it.
package protocol TransferReceiver: AnyObject {
  /// libcurl opened a socket, and connects next.
  func opened(_ socket: Int32)
  /// False aborts before anything of the request is sent on this connection.
  func aboutToSend(_ handle: EasyHandle, on ends: ConnectionSockets.Ends) -> Bool
  /// One line of the response's head; false aborts.
  func receive(header line: UnsafeRawBufferPointer) -> Bool
  /// The next bytes of the response's body.
  func receive(body bytes: UnsafeRawBufferPointer) -> BodyReceipt
  /// The next bytes of a streamed body.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyReading
}

/// What happens with bytes of a response's body.
package enum BodyReceipt {
  case taken
  /// The transfer is aborted.
  case refused
  /// The transfer waits until `EasyHandle.resume`, which offers the same bytes again.
  case later
}

/// What comes next of a request's body.
package enum BodyReading {
  /// So many bytes were put into the buffer; 0 at the end.
  case bytes(Int)
  /// Nothing until `EasyHandle.resume`.
  case later
  /// The rest does not come.
  case failed
}

extension TransferReceiver {
  /// For receivers without a streamed body.
  package func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyReading { .failed }
}

extension EasyHandle {
  /// Registers the callbacks of this handle, which outlives its last call of them.
  func attach() -> Bool {
    let context = Unmanaged.passUnretained(self).toOpaque()
    let opened = ccurl_set_opened(easy, context) { context, socket, _ in
      EasyHandle.from(context).receiver.opened(socket)
      return CURL_SOCKOPT_OK
    }
    let body = ccurl_set_body(easy, context) { bytes, size, count, context in
      let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
      return switch EasyHandle.from(context).receiver.read(into: buffer) {
      case .bytes(let count): count
      case .later: ccurl_read_pause
      case .failed: ccurl_read_abort
      }
    }
    let others = ccurl_set_callbacks(
      easy, context,
      { context, peer, local, peerPort, localPort in
        let ends = ConnectionSockets.Ends(
          peer: peer.map { String(cString: $0) } ?? "", peerPort: peerPort,
          local: local.map { String(cString: $0) } ?? "", localPort: localPort)
        let handle = EasyHandle.from(context)
        return handle.receiver.aboutToSend(handle, on: ends) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
      },
      { bytes, size, count, context in
        let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
        return EasyHandle.from(context).receiver.receive(header: line) ? line.count : EasyHandle.refusal(of: line)
      },
      { bytes, size, count, context in
        let piece = UnsafeRawBufferPointer(start: bytes, count: size * count)
        return switch EasyHandle.from(context).receiver.receive(body: piece) {
        case .taken: piece.count
        case .refused: EasyHandle.refusal(of: piece)
        case .later: ccurl_pause
        }
      })
    return opened == CURLE_OK && body == CURLE_OK && others == CURLE_OK
  }

  private static func from(_ context: UnsafeMutableRawPointer?) -> EasyHandle {
    Unmanaged<EasyHandle>.fromOpaque(context!).takeUnretainedValue()
  }

  /// Any return value but the byte count makes libcurl abort.
  private static func refusal(of bytes: UnsafeRawBufferPointer) -> Int { bytes.isEmpty ? 1 : 0 }
}
