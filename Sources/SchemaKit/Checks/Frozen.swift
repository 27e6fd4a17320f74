internal import Foundation

extension Workshop {
  public func incompatibilities() throws -> [String] { [] }
  public func freeze() throws -> String { "" }
}
