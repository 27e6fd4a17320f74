import LanyardClient

let lanyard = Lanyard()
let token = try await lanyard.token.get(account: "@active", minimumLifetimeSeconds: 120)
let authorization = "\(token.tokenType) \(token.accessToken.reveal())"
print("\(authorization.utf8.count) bytes for \(token.account), for \(token.expiresInSeconds) s")
