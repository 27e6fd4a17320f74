import Foundation

/// A minimal browser for a sign-in on this machine: HTTP/1.1, one form, redirects.
struct Browser {
  struct Page {
    let status: Int
    let location: String?
    let body: String
  }

  /// Opens the provider's page, signs in with name and password, and follows the redirect to the agent. Returns the
  /// title of the agent's page.
  func signIn(at address: String, name: String, password: String) throws -> String {
    let form = try get(address)
    guard let interaction = form.body.firstMatch(of: #/name="interaction" value="([^"]+)"/#) else {
      throw NotAsTold("the provider showed no sign-in page but status \(form.status)")
    }
    let answer = try send(
      "POST", address,
      body:
        "interaction=\(interaction.1)&username=\(name.replacing("@", with: "%40"))&password=\(password)&decision=allow")
    guard let back = answer.location else { throw NotAsTold("the provider answered the sign-in with \(answer.status)") }
    let last = try get(back)
    guard last.status == 200, let title = last.body.firstMatch(of: #/<title>(.*?)</title>/#) else {
      throw NotAsTold("the agent answered the browser with \(last.status)")
    }
    return String(title.1)
  }

  private func get(_ address: String) throws -> Page { try send("GET", address, body: "") }

  private func send(_ method: String, _ address: String, body: String) throws -> Page {
    guard let url = URLComponents(string: address), let host = url.host, let port = url.port else {
      throw NotAsTold("not an address on this machine: \(address)")
    }
    let target = url.percentEncodedPath + (url.percentEncodedQuery.map { "?\($0)" } ?? "")
    let request = """
      \(method) \(target.isEmpty ? "/" : target) HTTP/1.1\r
      Host: \(host):\(port)\r
      Content-Type: application/x-www-form-urlencoded\r
      Content-Length: \(body.utf8.count)\r
      Connection: close\r
      \r
      \(body)
      """
    return try parse(exchange(Data(request.utf8), host: host, port: UInt16(port)))
  }

  private func exchange(_ request: Data, host: String, port: UInt16) throws -> Data {
    let connection = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    let handle = FileHandle(fileDescriptor: connection, closeOnDealloc: true)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    inet_pton(AF_INET, host == "localhost" ? "127.0.0.1" : host, &address.sin_addr)
    let connected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(connection, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard connected == 0 else { throw NotAsTold("no server answers at port \(port)") }
    try handle.write(contentsOf: request)
    return try handle.readToEnd() ?? Data()
  }

  private func parse(_ data: Data) throws -> Page {
    let text = String(decoding: data, as: UTF8.self)
    guard let blank = text.range(of: "\r\n\r\n"), let status = text.firstMatch(of: #/^HTTP/1\.1 (\d{3})/#) else {
      throw NotAsTold("no HTTP answer")
    }
    let location = text[..<blank.lowerBound].firstMatch(of: #/\r\n(?i:location): ([^\r\n]+)/#)
    return Page(
      status: Int(status.1) ?? 0, location: location.map { String($0.1) }, body: String(text[blank.upperBound...]))
  }
}
