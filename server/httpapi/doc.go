// Package httpapi is the server's HTTP face: the JSON API of DESIGN §5 with its
// OpenAPI document, the app's files, and the doors of the two WebSockets. It
// decides who may pass (names and origins from the configuration, credential,
// scope) and translates; sessions, hosts and sockets themselves are others'
// work, behind the interfaces of contract.go. It never touches terminal bytes.
//
// One API lives as long as the process; net/http calls it on a goroutine per
// request, and it starts none of its own that outlives a request.
package httpapi
