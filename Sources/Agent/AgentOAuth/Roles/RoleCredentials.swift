package import AgentCore
package import AgentModel
package import AgentPorts
package import Secrets

/// The credentials of a role, from the Security Token Service of AWS.
package struct RoleCredentials: Sendable {
  package var accessKeyID: String
  package var secretAccessKey: Secret
  package var sessionToken: Secret
  package var lifetime: Milliseconds
}

/// The exchange of an ID token for the credentials of a role (AWS STS, `AssumeRoleWithWebIdentity`). It spends nothing:
/// it may be repeated after a lost answer.
package struct RoleExchange: Sendable {
  package enum Answer: Sendable {
    case credentials(RoleCredentials, sentAt: BootInstant)
    /// The service does not take this ID token; its error code.
    case tokenRefused(String)
    /// The service refuses the role, whatever the token; its error code.
    case refused(String)
    case failed(ExchangeFailure)
  }

  private let role: RoleSession
  private let http: any HTTPExchange

  package init(_ role: RoleSession, via http: any HTTPExchange) {
    self.role = role
    self.http = http
  }

  /// - Parameter now: the wall clock, for a service that does not tell its own.
  package func send(_ idToken: Secret, now: Timestamp) async -> Answer {
    var form = FormBody()
    form.append("Action", "AssumeRoleWithWebIdentity")
    form.append("Version", "2011-06-15")
    form.append("RoleArn", role.roleARN)
    form.append("RoleSessionName", role.name)
    if let seconds = role.durationSeconds { form.append("DurationSeconds", String(seconds)) }
    form.append("WebIdentityToken", idToken)
    let fields = [
      HTTPField("Content-Type", FormBody.mediaType), HTTPField("Accept", "text/xml, application/xml"),
    ]
    let request = HTTPRequest(method: "POST", to: role.endpoint, fields: fields, body: form.finish(), pins: [])
    switch await http.send(request) {
    case .response(let response): return Self.read(response, asked: role.durationSeconds, now: now)
    case .notConnected(let failure): return .failed(.offline(failure))
    case .untrusted(let reason): return .failed(.untrustedServer(reason))
    case .unknown(let lost, _): return .failed(.unknownOutcome(lost.rawValue))
    }
  }

  package static func read(_ response: HTTPResponse, asked seconds: Int? = nil, now: Timestamp) -> Answer {
    response.body.withBytes { bytes in
      let answer = FlatXML(bytes)
      if response.status == 200 {
        let clock = response.field("Date").flatMap { Timestamp(httpDate: $0, now: now) } ?? now
        guard let credentials = Self.credentials(answer, longest: .seconds(Int64(seconds ?? 3600)), now: clock) else {
          return .failed(.transient("malformedAnswer", retryAfter: nil))
        }
        return .credentials(credentials, sentAt: response.sentAt)
      }
      let code = answer.text("Code").map { String($0.prefix(64)) }
      switch (code, response.status) {
      case ("ExpiredTokenException", _), ("ExpiredToken", _), ("InvalidIdentityToken", _): return .tokenRefused(code!)
      case ("IDPCommunicationError", _), ("Throttling", _), ("ThrottlingException", _), ("RequestLimitExceeded", _),
        (_, 429), (_, 500...):
        return .failed(.transient(code ?? "status\(response.status)", retryAfter: nil))
      case (let code?, 400...): return .refused(code)
      default: return .failed(.transient("status\(response.status)", retryAfter: nil))
      }
    }
  }

  /// `longest`: what was asked for, or an hour, which AWS gives by itself. A service whose clock is wrong can't lengthen it.
  private static func credentials(_ answer: FlatXML, longest: Milliseconds, now: Timestamp) -> RoleCredentials? {
    guard let key = answer.text("AccessKeyId"), let secret = answer.secret("SecretAccessKey"),
      let token = answer.secret("SessionToken"), let end = answer.text("Expiration").flatMap(Timestamp.init(rfc3339:))
    else { return nil }
    return RoleCredentials(
      accessKeyID: key, secretAccessKey: secret, sessionToken: token,
      lifetime: min(max(.zero, end - now), longest))
  }
}

/// The texts of a small XML document whose elements have distinct names, read from guarded memory.
struct FlatXML {
  private let bytes: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  /// The text of the only element with this name; nil also if it has attributes, elements or references in it, or if a
  /// second element has the name.
  private func content(_ name: StaticString) -> UnsafeRawBufferPointer? {
    let open = Array("<\(name)>".utf8)
    let close = Array("</\(name)>".utf8)
    guard let start = first(open, from: 0), first(open, from: start + open.count) == nil,
      let end = first(close, from: start + open.count)
    else { return nil }
    var (low, high) = (start + open.count, end)
    while low < high, Self.isSpace(bytes[low]) { low += 1 }
    while low < high, Self.isSpace(bytes[high - 1]) { high -= 1 }
    let text = UnsafeRawBufferPointer(rebasing: bytes[low..<high])
    guard !text.isEmpty, text.count <= 16_384, text.allSatisfy({ 0x21...0x7E ~= $0 && $0 != 0x26 && $0 != 0x3C }) else {
      return nil
    }
    return text
  }

  func text(_ name: StaticString) -> String? { content(name).map { String(decoding: $0, as: UTF8.self) } }

  func secret(_ name: StaticString) -> Secret? { content(name).map { Secret(copying: $0) } }

  private func first(_ wanted: [UInt8], from start: Int) -> Int? {
    guard bytes.count >= wanted.count, start <= bytes.count - wanted.count else { return nil }
    return (start...(bytes.count - wanted.count)).first { place in
      wanted.indices.allSatisfy { bytes[place + $0] == wanted[$0] }
    }
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || 0x09...0x0D ~= byte }
}

extension Timestamp {
  /// An instant (RFC 3339), without its fraction of a second; nil for a day that no calendar has.
  init?(rfc3339 text: String) {
    let bytes = Array(text.uppercased().utf8)
    guard bytes.count >= 20 else { return nil }
    var zone = bytes[19...]
    if zone.first == UInt8(ascii: ".") { zone = zone.dropFirst().drop { 0x30...0x39 ~= $0 } }
    guard let year = Self.number(bytes[0..<4]), let month = Self.number(bytes[5..<7]),
      let day = Self.number(bytes[8..<10]), let hour = Self.number(bytes[11..<13]),
      let minute = Self.number(bytes[14..<16]), let second = Self.number(bytes[17..<19]),
      let offset = Self.offset(ofZone: Array(zone))
    else { return nil }
    self.init(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
    guard rfc3339.utf8.prefix(19).elementsEqual(bytes.prefix(19)) else { return nil }
    milliseconds -= offset.count
  }

  /// `Z`, or how far the local time is ahead of UTC, such as `+01:00`.
  private static func offset(ofZone zone: [UInt8]) -> Milliseconds? {
    if zone == [UInt8(ascii: "Z")] { return .zero }
    guard zone.count == 6, zone[0] == UInt8(ascii: "+") || zone[0] == UInt8(ascii: "-"), zone[3] == UInt8(ascii: ":"),
      let hours = number(zone[1..<3]), hours < 24, let minutes = number(zone[4..<6]), minutes < 60
    else { return nil }
    let ahead = Milliseconds.seconds((hours * 60 + minutes) * 60)
    return zone[0] == UInt8(ascii: "-") ? .zero - ahead : ahead
  }

  private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
    digits.allSatisfy { 0x30...0x39 ~= $0 } ? Int64(String(decoding: digits, as: UTF8.self)) : nil
  }
}
