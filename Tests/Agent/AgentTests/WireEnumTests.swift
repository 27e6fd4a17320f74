import AgentCore
import AgentModel
import AgentPorts
import AgentProtocol
internal import AgentRecords
internal import AgentUpkeep
import Testing

import AgentStore
import AgentServing

/// `WireEnums.swift` converts by raw value and traps where the other side lacks a case.
@Suite struct WireEnumTests {
  private static func rawValues<Value: RawRepresentable & CaseIterable>(_ type: Value.Type) -> Set<String>
  where Value.RawValue == String { Set(type.allCases.map(\.rawValue)) }

  @Test func everyCaseOfTheAgent_hasItsWordOnTheWire() {
    #expect(Self.rawValues(AccountState.self).isSubset(of: Self.rawValues(WireAccountState.self)))
    #expect(Self.rawValues(RefreshPhase.self).isSubset(of: Self.rawValues(WireRefreshPhase.self)))
    #expect(Self.rawValues(DataProtection.self).isSubset(of: Self.rawValues(WireDataProtection.self)))
    #expect(Self.rawValues(TokenBinding.self).isSubset(of: Self.rawValues(WireTokenBinding.self)))
    #expect(Self.rawValues(DataDisposition.self).isSubset(of: Self.rawValues(WireDataDisposition.self)))
    #expect(Self.rawValues(RevocationOutcome.self).isSubset(of: Self.rawValues(WireRevocationOutcome.self)))
    #expect(Self.rawValues(Connectivity.State.self).isSubset(of: Self.rawValues(WireConnectivityState.self)))
    #expect(Self.rawValues(Connectivity.Basis.self).isSubset(of: Self.rawValues(WireConnectivityBasis.self)))
    #expect(Self.rawValues(RecordedDecision.TimeBasis.self).isSubset(of: Self.rawValues(WireDecisionBasis.self)))
    #expect(Self.rawValues(Finding.Severity.self).isSubset(of: Self.rawValues(WireSeverity.self)))
    #expect(Self.rawValues(SkippedItem.Kind.self).isSubset(of: Self.rawValues(WireSkippedKind.self)))
    #expect(Self.rawValues(SkippedItem.Reason.self).isSubset(of: Self.rawValues(WireSkippedReason.self)))
    #expect(Self.rawValues(Confinement.self).isSubset(of: Self.rawValues(WireConfinement.self)))
    #expect(Self.rawValues(Remedy.self).isSubset(of: Self.rawValues(WireRemedy.self)))
  }

  /// A client may send any value of the contract's enums, so the agent must have a case for each.
  @Test func everyWordThatAClientMaySend_hasItsCaseInTheAgent() {
    #expect(Self.rawValues(KeyProtection.self) == Self.rawValues(WireProtection.self))
    #expect(Self.rawValues(SignOutMode.self) == Self.rawValues(WireSignOutMode.self))
    #expect(Self.rawValues(SignInFlow.self) == Self.rawValues(WireSignInFlow.self))
    #expect(Self.rawValues(WireAccountState.self).isSubset(of: Self.rawValues(AccountState.self)))
  }
}
