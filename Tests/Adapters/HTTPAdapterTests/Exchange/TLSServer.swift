import Foundation
import Testing

/// Runs a program to its end and returns what it printed.
@discardableResult func run(_ arguments: String..., input: Data? = nil) throws -> Data {
  try run(arguments, input: input)
}

func run(_ arguments: [String], input: Data? = nil) throws -> Data {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
  process.arguments = arguments
  let (standardInput, output) = (Pipe(), Pipe())
  process.standardInput = standardInput
  process.standardOutput = output
  process.standardError = FileHandle.nullDevice
  try process.run()
  if let input { try standardInput.fileHandleForWriting.write(contentsOf: input) }
  try standardInput.fileHandleForWriting.close()
  let data = try output.fileHandleForReading.readToEnd() ?? Data()
  process.waitUntilExit()
  try #require(process.terminationStatus == 0, "\(arguments)")
  return data
}

/// A temporary directory, removed with the test.
final class TemporaryDirectory: Sendable {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("lanyard-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  subscript(name: String) -> String { url.appendingPathComponent(name).path }
}

/// A self-signed identity for `localhost`, made once by the openssl program, and its pin.
struct TLSIdentity: Sendable {
  let directory: TemporaryDirectory
  let pin: String

  var certificate: String { directory["certificate.pem"] }
  var key: String { directory["key.pem"] }

  static let localhost = Result { try TLSIdentity() }
  static let other = Result { try TLSIdentity() }
  /// Valid for one day of 2020.
  static let expired = Result { try TLSIdentity(isExpired: true) }

  private init(isExpired: Bool = false) throws {
    directory = try TemporaryDirectory()
    try run(
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
      "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", directory["key.pem"], "-out",
      directory["certificate.pem"])
    if isExpired { try Self.signAgainInThePast(directory) }
    let publicKey = try run("openssl", "pkey", "-in", directory["key.pem"], "-pubout", "-outform", "der")
    pin = try "sha256/" + run("openssl", "dgst", "-sha256", "-binary", input: publicKey).base64EncodedString()
  }
}

extension TLSIdentity {
  /// Only `openssl ca` lets the dates be chosen in every version.
  private static func signAgainInThePast(_ directory: TemporaryDirectory) throws {
    let configuration = """
      [ca]
      default_ca = authority
      [authority]
      database = \(directory["index.txt"])
      serial = \(directory["serial"])
      new_certs_dir = \(directory.url.path)
      default_md = sha256
      policy = policy
      x509_extensions = extensions
      [policy]
      commonName = supplied
      [extensions]
      subjectAltName = DNS:localhost
      basicConstraints = CA:TRUE
      """
    try configuration.write(toFile: directory["ca.cnf"], atomically: true, encoding: .utf8)
    try "01\n".write(toFile: directory["serial"], atomically: true, encoding: .utf8)
    try "".write(toFile: directory["index.txt"], atomically: true, encoding: .utf8)
    try run(
      "openssl", "req", "-new", "-key", directory["key.pem"], "-subj", "/CN=localhost", "-out", directory["request.pem"]
    )
    try run(
      "openssl", "ca", "-batch", "-selfsign", "-config", directory["ca.cnf"], "-keyfile", directory["key.pem"], "-in",
      directory["request.pem"], "-startdate", "20200101000000Z", "-enddate", "20200102000000Z", "-notext", "-out",
      directory["certificate.pem"])
  }
}

/// HTTPS on loopback, by Python's TLS. Answers each request with its path, or `/echo` with its body, and counts.
final class TLSServer: Sendable {
  private let process: Process
  /// Closes when the test process ends, and ends the server with it.
  private let life = Pipe()
  let port: UInt16
  private let log: TemporaryDirectory

  var url: String { "https://localhost:\(port)" }
  /// The number of requests received through TLS.
  var requests: Int {
    (try? String(contentsOfFile: log["requests"], encoding: .utf8).split(separator: "\n").count) ?? 0
  }

  init(_ identity: TLSIdentity, newestVersion: String = "MAXIMUM_SUPPORTED") throws {
    log = try TemporaryDirectory()
    process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
      "python3", "-c", Self.script, identity.certificate, identity.key, log["requests"], newestVersion,
    ]
    let output = Pipe()
    process.standardInput = life
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    port = try #require(UInt16(line.trimmingCharacters(in: .whitespacesAndNewlines)))
  }

  deinit { process.terminate() }

  private static let script = """
    import os, socket, ssl, sys, threading
    def outlive():
        sys.stdin.buffer.read()
        os._exit(0)
    threading.Thread(target=outlive, daemon=True).start()
    certificate, key, log, newest = sys.argv[1:]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    context.maximum_version = ssl.TLSVersion[newest]
    context.load_cert_chain(certificate, key)
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    while True:
        peer, _ = listener.accept()
        try:
            with context.wrap_socket(peer, server_side=True) as tls:
                head = b""
                while b"\\r\\n\\r\\n" not in head:
                    more = tls.recv(65536)
                    if not more: break
                    head += more
                else:
                    with open(log, "a") as file: file.write("request\\n")
                    answer = head.split()[1]
                    if answer == b"/echo": answer = head.split(b"\\r\\n\\r\\n", 1)[1] or tls.recv(65536)
                    tls.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n%s" % (len(answer), answer))
        except OSError: pass
    """
}
