import LanyardClient

let lanyard = Lanyard()
let events = try await lanyard.events(types: [.accountSwitched, .sessionExpired])
loop: for try await event in events {
  switch event.type {
  case .eventGap: print("something was missed: look at everything again")
  case .sessionExpired: print(event.account ?? "", "has to sign in again:", event.sessionExpired?.reason ?? "")
  default: break loop
  }
}
