// Package lanyard is a client for the Lanyard agent: access tokens, authorization decisions and authenticated
// requests from the one local agent that holds a person's accounts. It uses the standard library only.
//
//	client := lanyard.NewClient()
//	defer client.Close()
//	token, err := client.Token.Get(ctx, &lanyard.TokenGetParams{Account: "@active"})
//
// # Methods
//
// Every method of the contract is a method of its namespace: [Client] has Token, SignIn, Account and so on. Each
// takes a context and its params, which may be nil where none is required, and returns a typed result. When the
// context ends, the request is cancelled in the agent.
//
// Optional members are pointers, slices or maps, and absent if nil; [Ptr] makes a pointer to a value. Members that
// this version does not know are in Extra. Words of an enumeration are strings, so that unknown ones survive.
//
// # Errors
//
// Every error of a call is found by errors.As as an [*Error], and compares by errors.Is with constants such as
// [ErrSignedOut]. Each error of the contract also has a type of its own, such as [*SignedOutError].
//
// # Secrets
//
// Tokens and passphrases are of the type [Secret], which does not print.
//
// # HTTP
//
// [Transport] sends requests with the token of an account. [OAuth2Source] gives tokens to golang.org/x/oauth2.
package lanyard
