import LanyardClient

let lanyard = Lanyard()
let token = try await lanyard.token.get(account: "@active", minimumLifetimeSeconds: 120)
print("Authorization: \(token.tokenType) \(token.accessToken.reveal())")
