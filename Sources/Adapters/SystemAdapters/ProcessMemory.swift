internal import Glibc

/// The memory of this process, as the kernel counts it.
public enum ProcessMemory {
  /// What of it is in RAM, in bytes; nil where `/proc` is not there.
  public static func residentBytes() -> Int64? {
    let file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 128)
    let count = read(file, &bytes, bytes.count)
    guard count > 0 else { return nil }
    // The second field is in pages (proc(5)).
    let fields = String(decoding: bytes.prefix(count), as: UTF8.self).split(separator: " ")
    guard fields.count > 1, let pages = Int64(fields[1]) else { return nil }
    return pages * Int64(sysconf(Int32(_SC_PAGESIZE)))
  }
}
