/// The counters that must not change while a backup is made: of sign-outs, erasures, new PINs and lockings.
package struct BackupMoment: Sendable, Equatable { var unlockGeneration, withdrawalCount: UInt64 }
