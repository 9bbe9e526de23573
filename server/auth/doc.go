// Package auth decides who a caller is: pairing links (tickets), six-character
// codes, bearer tokens, and cookie sessions whose contents stay in the store.
// It mints, checks and revokes; what a principal may do with which route is
// decided where the route is. No caller is ever trusted for its source address.
//
// One Service lives as long as the process. server/httpapi asks it about every
// request, the commands of server/cmd mint through one beside a running server.
// Its only goroutine is Run, which the owner waits for.
package auth
