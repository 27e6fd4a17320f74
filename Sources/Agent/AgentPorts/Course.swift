/// The end of work that began without a task.
public enum Course<Success: Sendable, Failure: Error>: Sendable {
  case ended(Result<Success, Failure>)
  /// More is to be done, by a task. If none can be started any more, `otherwise` is the failure.
  case goesOn(otherwise: Failure, @Sendable () async throws(Failure) -> Success)

  @inlinable
  public func map<Other>(
    _ success: @escaping @Sendable (Success) -> Other
  ) -> Course<Other, Failure> { map(success, { $0 }) }

  @inlinable
  public func map<Other, OtherFailure>(
    _ success: @escaping @Sendable (Success) -> Other, _ failure: @escaping @Sendable (Failure) -> OtherFailure
  ) -> Course<Other, OtherFailure> {
    switch self {
    case .ended(let result): .ended(result.map(success).mapError(failure))
    case .goesOn(let otherwise, let work):
      .goesOn(otherwise: failure(otherwise)) { () async throws(OtherFailure) in
        do throws(Failure) { return success(try await work()) } catch { throw failure(error) }
      }
    }
  }
}
