package lanyard

import "context"

// OAuth2Source gives tokens of one account by the method Token that golang.org/x/oauth2 asks for in its TokenSource,
// without depending on that package: T is its type Token, and the function given to NewOAuth2Source fills one.
type OAuth2Source[T any] struct {
	ctx     context.Context
	client  *Client
	params  TokenGetParams
	convert func(*Token) *T
}

// NewOAuth2Source makes a source of tokens:
//
//	source := lanyard.NewOAuth2Source(ctx, client, &lanyard.TokenGetParams{Account: "work"},
//		func(t *lanyard.Token) *oauth2.Token {
//			end := time.Now().Add(time.Duration(t.ExpiresInSeconds) * time.Second)
//			return &oauth2.Token{AccessToken: t.AccessToken.Reveal(), TokenType: t.TokenType, Expiry: end}
//		})
//
// The package compares Expiry with this machine's clock, and ExpiresAt is by the provider's. The context is that of every
// call, as with the sources of golang.org/x/oauth2. That package sends the token to any URL that it is asked for, and
// reports no 401; Transport does better where it can be used.
func NewOAuth2Source[T any](
	ctx context.Context, client *Client, params *TokenGetParams, convert func(*Token) *T,
) *OAuth2Source[T] {
	return &OAuth2Source[T]{ctx, client, *params, convert}
}

// Token returns a token of the account.
func (s *OAuth2Source[T]) Token() (*T, error) {
	params := s.params
	token, err := s.client.Token.Get(s.ctx, &params)
	if err != nil {
		return nil, err
	}
	return s.convert(token), nil
}
