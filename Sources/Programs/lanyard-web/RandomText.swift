internal import CPlatform
internal import CommandSupport

/// Text that nobody guesses, for an address, a cookie or a form.
enum RandomText {
  private static let byteCount = 32
  private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  /// 32 letters of 64, of the kernel's generator: 192 bits.
  static func new() throws(CommandFailure) -> String {
    var bytes = [UInt8](repeating: 0, count: byteCount)
    guard lanyard_random(&bytes, bytes.count) == 0 else {
      throw CommandFailure(.other, name: "system", "The kernel gave no random bytes. The page was not started.")
    }
    return String(decoding: bytes.map { letters[Int($0 & 63)] }, as: UTF8.self)
  }
}
