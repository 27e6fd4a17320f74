package lanyard

import (
	"net"
	"net/url"
	"strings"
)

// origin is a scheme, a host and a port (RFC 6454), as a text that compares.
type origin string

// originOf is the origin of a URL; false if a token must not go there: it is neither https nor on this machine.
func originOf(address *url.URL) (origin, bool) {
	host := strings.ToLower(address.Hostname())
	port := address.Port()
	switch strings.ToLower(address.Scheme) {
	case "https":
		if port == "" {
			port = "443"
		}
	case "http":
		if !isLoopback(host) {
			return "", false
		}
		if port == "" {
			port = "80"
		}
	default:
		return "", false
	}
	if host == "" {
		return "", false
	}
	return origin(strings.ToLower(address.Scheme) + "://" + net.JoinHostPort(host, port)), true
}

// isLoopback reports whether a host is this machine by its name alone.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	address := net.ParseIP(host)
	return address != nil && address.IsLoopback()
}

// covers reports whether a list of origins, as the caller wrote them, has the origin of a URL.
func covers(origins []string, address *url.URL) bool {
	wanted, ok := originOf(address)
	if !ok {
		return false
	}
	for _, text := range origins {
		named, err := url.Parse(text)
		if err != nil || named.User != nil || named.RawQuery != "" || named.Fragment != "" ||
			named.Path != "" && named.Path != "/" {
			continue
		}
		if found, ok := originOf(named); ok && found == wanted {
			return true
		}
	}
	return false
}
