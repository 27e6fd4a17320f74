// Prints what happens to the accounts, until it is interrupted: `node watch.js`.

import { Client } from "lanyard";

const client = new Client({ name: "watch" });
for await (const event of client.events()) {
  switch (event.type) {
    case "event.gap":
      console.log("Some events were missed.");
      break;
    case "session.expired":
      console.log(`${event.account} has to sign in again (${event.data.reason}).`);
      break;
    case "token.refreshed":
      console.log(`${event.account} has a new token until ${event.data.expiresAt.toLocaleTimeString()}.`);
      break;
    default:
      console.log(event.type, event.account ?? "");
  }
}
