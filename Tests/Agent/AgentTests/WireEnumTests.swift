import AgentCore
import AgentModel
import AgentProtocol
import Testing

@testable import Agent
@testable import AgentServing

/// `WireEnums.swift` converts by raw value and traps where the other side lacks a case.
@Suite struct WireEnumTests {
  private static func words<Value: RawRepresentable & CaseIterable>(_ type: Value.Type) -> Set<String>
  where Value.RawValue == String { Set(type.allCases.map(\.rawValue)) }

  @Test func everyCaseOfTheAgent_hasItsWordOnTheWire() {
    #expect(Self.words(AccountState.self).isSubset(of: Self.words(WireAccountState.self)))
    #expect(Self.words(RefreshPhase.self).isSubset(of: Self.words(WireRefreshPhase.self)))
    #expect(Self.words(DataProtection.self).isSubset(of: Self.words(WireDataProtection.self)))
    #expect(Self.words(DataDisposition.self).isSubset(of: Self.words(WireDataDisposition.self)))
    #expect(Self.words(RevocationOutcome.self).isSubset(of: Self.words(WireRevocationOutcome.self)))
    #expect(Self.words(Connectivity.State.self).isSubset(of: Self.words(WireConnectivityState.self)))
    #expect(Self.words(Connectivity.Basis.self).isSubset(of: Self.words(WireConnectivityBasis.self)))
    #expect(Self.words(RecordedDecision.TimeBasis.self).isSubset(of: Self.words(WireDecisionBasis.self)))
    #expect(Self.words(Finding.Severity.self).isSubset(of: Self.words(WireSeverity.self)))
    #expect(Self.words(SkippedItem.Kind.self).isSubset(of: Self.words(WireSkippedKind.self)))
    #expect(Self.words(SkippedItem.Reason.self).isSubset(of: Self.words(WireSkippedReason.self)))
    #expect(Self.words(Remedy.self).isSubset(of: Self.words(WireRemedy.self)))
  }

  /// A client may send any word of the contract: the agent must know each of them.
  @Test func everyWordThatAClientMaySend_hasItsCaseInTheAgent() {
    #expect(Self.words(KeyProtection.self) == Self.words(WireProtection.self))
    #expect(Self.words(SignOutMode.self) == Self.words(WireSignOutMode.self))
    #expect(Self.words(SignInFlow.self) == Self.words(WireSignInFlow.self))
    #expect(Self.words(WireAccountState.self).isSubset(of: Self.words(AccountState.self)))
  }

  @Test func everyKindOfFailure_isTheNameOfItsErrorCode() {
    for kind in FailureKind.allCases {
      #expect(ErrorCode(kind).name.description == kind.rawValue)
    }
  }
}
