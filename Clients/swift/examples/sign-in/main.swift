import LanyardClient

let lanyard = Lanyard()
let begun = try await lanyard.signIn.begin(provider: "practice", flow: .device)
print("Open \(begun.verificationUri ?? "") and enter \(begun.userCode ?? "")")
let ended = try await lanyard.signIn.wait(signIn: begun.signIn, timeoutSeconds: 300)
print("Signed in: \(ended.account ?? "")")
