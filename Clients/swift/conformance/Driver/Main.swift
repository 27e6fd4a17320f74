internal import LanyardClient

#if canImport(Darwin)
  internal import Darwin
#else
  internal import Glibc
#endif

@main
enum Main {
  static func main() {
    let driver = Driver()
    while let line = readLine() {
      guard let command = try? JSON(parsing: line) else { continue }
      driver.begin(command)
    }
    driver.close()
    exit(0)
  }
}
