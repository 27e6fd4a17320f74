internal import CPlatform
internal import Glibc
internal import Secrets

/// The client's side of the Assuan protocol, as far as pinentry uses it: each command line is answered by `OK` or
/// `ERR`, with `D` lines of percent-coded data before it (the Assuan manual, §1.2).
struct AssuanClient {
  enum Failure: Error { case cancelled, timedOut, broken, refused }

  /// The protocol's limit for a line: 1,000 bytes.
  static let longestLine = 1024
  /// Limit of data, comment and status lines in one response.
  private static let mostLines = 64
  /// GPG_ERR_TIMEOUT, GPG_ERR_CANCELED, GPG_ERR_NOT_CONFIRMED, GPG_ERR_FULLY_CANCELED.
  private static let (timeout, refusals) = (62, [99, 114, 198])

  let socket: Int32
  let cancel: Int32
  /// On the boot clock, in milliseconds.
  let deadline: Int64
  let buffer: UnsafeMutableRawBufferPointer
  private var filled = 0
  private var consumed = 0

  init(socket: Int32, cancel: Int32, deadline: Int64, buffer: UnsafeMutableRawBufferPointer) {
    self.socket = socket
    self.cancel = cancel
    self.deadline = deadline
    self.buffer = buffer
  }

  mutating func greeting() throws(Failure) { try answer { (_) in } }

  /// Sets an option that some pinentry programs do not know; a refusal is ignored.
  mutating func offer(_ command: String, _ value: String) throws(Failure) {
    try send(command + (command.hasPrefix("OPTION") ? "=" : " ") + Self.coded(value))
    do throws(Failure) {
      try answer { (_) in }
    } catch {
      guard error == .refused else { throw error }
    }
  }

  /// Prompts, and returns what the person typed.
  mutating func typed() throws(Failure) -> Secret {
    try send("GETPIN")
    var typed = SecretBuilder(capacity: Self.longestLine)
    try answer { data in Self.decode(data, onto: &typed) }
    return typed.finish()
  }

  /// Asks for a yes; throws `cancelled` for a no.
  mutating func confirmed() throws(Failure) {
    try send("CONFIRM")
    try answer { (_) in }
  }

  // MARK: lines

  /// Reads to the end of a response, and passes its data to `receive`.
  private mutating func answer(_ data: (UnsafeRawBufferPointer) -> Void) throws(Failure) {
    for _ in 0..<Self.mostLines {
      let line = try line()
      if line.elementsEqual("OK".utf8) || line.starts(with: "OK ".utf8) { return }
      if line.starts(with: "D ".utf8) {
        data(UnsafeRawBufferPointer(rebasing: line[2...]))
      } else if line.starts(with: "ERR ".utf8) {
        // The lower 16 bits are the error code, the upper ones its source.
        let digits = line[4...].prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        let code = (Int(String(decoding: digits, as: UTF8.self)) ?? 0) & 0xFFFF
        throw code == Self.timeout ? .timedOut : Self.refusals.contains(code) ? .cancelled : .refused
      } else if !line.starts(with: "S ".utf8), line.first != UInt8(ascii: "#") {
        throw .broken
      }
    }
    throw .broken
  }

  /// The next line, as a range of the buffer.
  private mutating func line() throws(Failure) -> UnsafeRawBufferPointer {
    while true {
      let unread = UnsafeRawBufferPointer(rebasing: buffer[consumed..<filled])
      if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
        consumed += end + 1
        return UnsafeRawBufferPointer(rebasing: unread[..<end])
      }
      if consumed > 0 {
        memmove(buffer.baseAddress!, buffer.baseAddress! + consumed, filled - consumed)
        (filled, consumed) = (filled - consumed, 0)
      }
      guard filled < buffer.count else { throw .broken }
      try wait()
      let got = read(socket, buffer.baseAddress! + filled, buffer.count - filled)
      guard got > 0 else { throw .broken }
      filled += got
    }
  }

  private func wait() throws(Failure) {
    while true {
      let left = deadline - lanyard_boot_milliseconds()
      guard left > 0 else { throw .timedOut }
      var watched = [
        pollfd(fd: socket, events: Int16(POLLIN), revents: 0), pollfd(fd: cancel, events: Int16(POLLIN), revents: 0),
      ]
      _ = poll(&watched, 2, Int32(clamping: left))
      if watched[1].revents != 0 { throw .cancelled }
      if watched[0].revents != 0 { return }
    }
  }

  private func send(_ line: String) throws(Failure) {
    // Nothing sent is secret, and all of it is short.
    var line = line + "\n"
    let sent = line.withUTF8 { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    guard sent == line.utf8.count else { throw .broken }
  }

  // MARK: percent coding of Assuan, which escapes only %, CR and LF

  static func coded(_ text: String) -> String {
    text.unicodeScalars.reduce(into: "") { coded, scalar in
      switch scalar {
      case "%": coded += "%25"
      case "\r": coded += "%0D"
      case "\n": coded += "%0A"
      default: coded.unicodeScalars.append(scalar)
      }
    }
  }

  /// Decodes in place. A percent sign without two digits stands for itself.
  static func decode(_ data: UnsafeRawBufferPointer, onto target: inout SecretBuilder) {
    func digit(_ byte: UInt8) -> UInt8? {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
      case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
      case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
      default: nil
      }
    }
    var index = 0
    while index < data.count {
      if data[index] == UInt8(ascii: "%"), index + 2 < data.count, let high = digit(data[index + 1]),
        let low = digit(data[index + 2])
      {
        target.append(high << 4 | low)
        index += 3
      } else {
        target.append(data[index])
        index += 1
      }
    }
  }
}
