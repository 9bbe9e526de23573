// Package server holds the nouns of the server side and the contracts that its
// packages share: Host, Session, Device, Principal and Scope as data, the
// stable error codes, the store contract, and the one type for text that a
// program or another machine supplied. It opens nothing, starts no goroutine
// and knows no technology; every package under server/ imports it and only
// server/cmd wires them together. Its values are plain data and live as long
// as their holder keeps them.
package server
