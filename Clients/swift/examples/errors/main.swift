import LanyardClient

let lanyard = Lanyard()
do {
  let token = try await lanyard.token.get(account: "retired")
  print("valid until \(token.expiresAt)")
} catch LanyardError.agentLocked {
  print("unlock the agent first: lanyard unlock")
} catch let error as LanyardError where error.code == .reauthenticationRequired {
  print(error.account ?? "", error.reason ?? "", error.remedies ?? [])
} catch let error as LanyardError {
  print(error.code, error.retryable, error.retryAfterMs ?? 0)
}
